#include "reproduce/sweep.h"

#include <gtest/gtest.h>

#include "base/usage_error.h"
#include "support/refusal.h"

namespace sadam::reproduce {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

using Names = std::vector<std::string>;

Plan plan_of(const SweepRequest& request) { return plan_sweep(request, swept_fields(request)); }
Plan plan_of(Names sets) { return plan_of(SweepRequest{"", "", std::move(sets), "", "runs"}); }

Names folders(const Plan& plan) {
  Names names;
  for (const auto& run : plan.runs) names.push_back(run.folder.filename().string());
  return names;
}

bool is_one_run(const std::string& assignment) {
  return swept_fields({"", "", {assignment}, "", ""}).empty();
}

std::string why_not(Names sets) {
  return refusal<UsageError>([&] { plan_of(std::move(sets)); });
}

TEST(Sweep, EveryCombinationIsARun) {
  const auto plan = plan_of(Names{"optimizer.lr=1e-4,1e-3", "seed=1-2,7"});
  EXPECT_EQ(folders(plan), (Names{"lr1e-4-seed1", "lr1e-4-seed2", "lr1e-4-seed7", "lr1e-3-seed1",
                                  "lr1e-3-seed2", "lr1e-3-seed7"}));
  EXPECT_EQ(plan.runs[4].folder, "runs/synthetic10-qatnet-sadam-by-lr-seed/lr1e-3-seed2");
  EXPECT_EQ(plan.runs[4].recipe.optimizer.lr, 1e-3);
  EXPECT_EQ(plan.runs[4].recipe.seed, 2);
  EXPECT_EQ(plan.runs[4].label(plan.table), "lr1e-3-seed2");
}

TEST(Sweep, TheFolderIsNamedByWhatAllRunsShareAndByWhatIsSwept) {
  EXPECT_EQ(plan_of(Names{"data.name=cifar10,cifar100", "train.epochs=3"}).name,
            "qatnet-sadam-epochs3-42-by-data");
  EXPECT_EQ(plan_of(SweepRequest{"", "", {"seed=1,2"}, "mine", "there"}).runs[0].folder, "there/mine/seed1");
}

TEST(Sweep, OneValueIsOneRun) {
  for (const char* assignment :
       {"optimizer.lr=1e-3", "seed=3", "title=a, b", "title=[\"a\", \"b\"]", "data.root=/a,b",
        "model.weights=a,b.pth", "data.name=folder:/a,b", "data.name=\"x,y\"", "data.name='x,y'",
        "model.weights=[a,b", "nonsense=1,2", "seed"})
    EXPECT_TRUE(is_one_run(assignment)) << assignment;
}

TEST(Sweep, CommasAndBracketsMakeLists) {
  EXPECT_EQ(folders(plan_of(Names{"optimizer.bias_correction=adamw, none"})),
            (Names{"bias_correction-adamw", "bias_correction-none"}));
  EXPECT_EQ(folders(plan_of(Names{"model.weights=[\"a,1.pth\", \"b.pth\"]"})),
            (Names{"weights-a_1.pth", "weights-b.pth"}));
  EXPECT_EQ(folders(plan_of(Names{"optimizer.damp_weight_decay=true,false"})),
            (Names{"damp_weight_decay-true", "damp_weight_decay-false"}));
}

TEST(Sweep, TheLastAssignmentToAFieldCounts) {
  EXPECT_EQ(folders(plan_of(Names{"seed=1,2", "optimizer.lr=1e-3,1e-2", "seed=5,6", "optimizer.lr=1"})),
            (Names{"seed5", "seed6"}));
}

TEST(Sweep, AFieldThatDecidesNothingMakesNoSecondRun) {
  EXPECT_EQ(folders(plan_of(Names{"optimizer.name=adamw,sadam", "optimizer.probes=2,8"})),
            (Names{"adamw", "sadam-probes2", "sadam-probes8"}));
}

TEST(Sweep, ValuesThatLookAlikeAsFileNamesStayApart) {
  const auto names = folders(plan_of(Names{"model.weights=[\"x/a.pth\", \"y/a.pth\"]"}));
  ASSERT_EQ(names.size(), 2U);
  EXPECT_NE(names[0], names[1]);
  EXPECT_TRUE(names[0].starts_with("weights-a.pth-")) << names[0];
}

TEST(Sweep, MistakesNameTheCombination) {
  EXPECT_TRUE(says(why_not({"optimizer.lr=1e-3,0.001"}), "optimizer.lr=0.001: this run is asked for twice"));
  EXPECT_TRUE(says(why_not({"optimizer.lr=1e-3,abc"}), "--set: optimizer.lr is the text 'abc'"));
  EXPECT_TRUE(says(why_not({"optimizer.lr=1e-3,"}), "nothing between two commas"));
  EXPECT_TRUE(says(why_not({"seed=3-1"}), "--set seed: the range '3-1' ends before it begins"));
  EXPECT_TRUE(says(why_not({"seed=1,1"}), "--set seed: seed 1 is given twice"));
  EXPECT_TRUE(says(why_not({"optimizer.directions=sphere,step", "seed=1,2"}),
                   "optimizer.directions=step, seed=1: optimizer.directions is 'step'"));
  EXPECT_TRUE(says(why_not({"optimizer.name=adamw", "optimizer.probes=2,8"}),
                   "optimizer.probes=2: this decides nothing"));
  EXPECT_TRUE(says(why_not({"seed=1-500", "optimizer.lr=1,2,3"}), "more than 1000 runs"));
}

SweepRequest with(const std::string& sweep, Names sets = {}) {
  return {"a/my.toml", "[train]\nepochs = 3\n" + sweep, std::move(sets), "", "runs"};
}

TEST(SweepFile, SaysTheSameInATable) {
  const Names expected = {"lr1e-4-seed1", "lr1e-4-seed2", "lr0.01-seed1", "lr0.01-seed2"};
  for (const char* text : {"[sweep]\noptimizer.lr = [1e-4, 1e-2]\nseed = [1, 2]\n",
                           "[sweep]\n\"optimizer.lr\" = [1e-4, 1e-2]\nseed = '1-2'\n"}) {
    const auto plan = plan_of(with(text));
    EXPECT_EQ(folders(plan), expected);
    EXPECT_EQ(plan.name, "my-by-lr-seed");
    EXPECT_EQ(plan.runs[0].recipe.train.epochs, 3);
  }
}

TEST(SweepFile, TheCommandLineReplacesItsFields) {
  const std::string text = "[sweep]\noptimizer.lr = [1e-4, 1e-2]\nseed = [1, 2]\n";
  const auto plan = plan_of(with(text, {"seed=5", "train.epochs=4"}));
  EXPECT_EQ(folders(plan), (Names{"lr1e-4", "lr0.01"}));
  EXPECT_EQ(plan.name, "my-epochs4-5-by-lr");
}

TEST(SweepFile, IsRefusedWithItsLine) {
  const auto why = [&](const std::string& text) { return refusal<UsageError>([&] { plan_of(with(text)); }); };
  EXPECT_TRUE(says(why("[sweep]\noptimizer.rl = [1]\n"), "my.toml:4: "));
  EXPECT_TRUE(says(why("[sweep]\noptimizer.rl = [1]\n"), "did you mean"));
  EXPECT_TRUE(says(why("[sweep]\noptimizer.lr = []\n"), "my.toml:4: the list of optimizer.lr is empty"));
  EXPECT_TRUE(says(why("[sweep]\noptimizer.lr = [[1]]\n"), "my.toml:4: "));
  EXPECT_TRUE(says(why("[sweep]\noptimizer.lr = [1, 'a']\n"), "my.toml:4: "));
  EXPECT_TRUE(says(why("[[sweep]]\nseed = [1]\n"), "[sweep] is a table"));
}

}  // namespace
}  // namespace sadam::reproduce
