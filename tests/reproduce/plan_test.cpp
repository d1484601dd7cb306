#include "reproduce/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/usage_error.h"
#include "support/refusal.h"
#include "train/recipe/fields.h"

namespace sadam::reproduce {
namespace {

using sadam::testing::refusal;

const PlannedRun* find_run(const Plan& plan, const std::string& folder) {
  const auto found = std::find_if(plan.runs.begin(), plan.runs.end(),
                                  [&](const PlannedRun& run) { return run.folder == folder; });
  return found == plan.runs.end() ? nullptr : &*found;
}

bool has_difference(const Plan& plan, const std::string& part) {
  return std::any_of(plan.differences.begin(), plan.differences.end(),
                     [&](const auto& text) { return text.find(part) != std::string::npos; });
}

constexpr const char* kOwnTable =
    "[table]\ntitle = 't'\nseeds = [1]\nnotes = ['by me']\n"
    "[[table.column]]\nkey = 'c'\ntitle = 'c'\n"
    "[[table.row]]\nkey = 'a'\ntitle = 'a'\n";

TEST(Plan, EveryBuiltInTableResolvesInFullAndQuick) {
  for (const auto& built_in : built_in_recipes()) {
    if (built_in.name == "curves") continue;
    for (const bool quick : {false, true}) {
      Request request;
      request.quick = quick;
      const auto plan = make_plan(find_table(std::string(built_in.name)), request);
      std::set<std::filesystem::path> folders;
      for (const auto& run : plan.runs) EXPECT_TRUE(folders.insert(run.folder).second) << run.folder;
      EXPECT_FALSE(plan.differences.empty());
    }
  }
}

TEST(Plan, FiguresNameTablesColumnsAndRowsThatExist) {
  for (const auto& built_in : built_in_recipes()) {
    if (built_in.name != "curves") continue;
    const auto figures = read_figures(built_in.text, "curves.toml");
    EXPECT_EQ(figures.size(), 3U);
    for (const auto& figure : figures) {
      Request request;
      request.only = figure.columns;
      EXPECT_NO_THROW(make_plan(find_table(figure.table), request));
      request.only = figure.rows;
      EXPECT_NO_THROW(make_plan(find_table(figure.table), request));
    }
  }
}

TEST(Plan, TheExperimentsAreThePapers) {
  const auto plan = make_plan(find_table("table1"), {});
  const auto* const run = find_run(plan, "runs/table1/cifar100/sadam-k8/seed-42");
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->recipe.data.name, "cifar100");
  EXPECT_EQ(run->recipe.model.bits, 2);
  EXPECT_EQ(run->recipe.train.batch, 128);
  EXPECT_EQ(run->recipe.train.epochs, 10);
  EXPECT_EQ(run->recipe.optimizer.directions, "per_tensor");
  EXPECT_EQ(run->recipe.optimizer.statistic, "unbiased_variance");
  EXPECT_EQ(run->recipe.optimizer.noise, "fresh");
  EXPECT_EQ(run->recipe.optimizer.probes, 8);
  EXPECT_EQ(run->recipe.optimizer.damping, 2);
  const auto* const prox = find_run(plan, "runs/table1/cifar100/prox_sgd/seed-42");
  ASSERT_NE(prox, nullptr);
  EXPECT_EQ(prox->recipe.optimizer.lr, 0.01);
  EXPECT_EQ(prox->recipe.optimizer.l1, 1e-4);
  const auto batch2 = make_plan(find_table("table3"), {});
  EXPECT_EQ(batch2.runs.front().recipe.model.name, "resnet18");
  EXPECT_EQ(batch2.runs.front().recipe.train.batch, 2);
  EXPECT_EQ(batch2.runs.front().recipe.train.epochs, 20);
  EXPECT_EQ(batch2.runs.front().recipe.data.pixels, 224);
}

// What the authors' probes do to batch norm, and nothing else of S-Adam.
TEST(Plan, TheBatchNormControlProbesAsTheAuthorsDoAndNeverBrakes) {
  const auto plan = make_plan(find_table("table3"), {});
  const auto* const sadam = find_run(plan, "runs/table3/imagewoof/sadam-k2/seed-42");
  const auto* const control = find_run(plan, "runs/table3/imagewoof/batch-norm-k2/seed-42");
  ASSERT_TRUE(sadam != nullptr && control != nullptr);
  auto expected = sadam->recipe;
  expected.optimizer.damping = 0;
  expected.optimizer.monitor = true;
  EXPECT_TRUE(train::differences(expected, control->recipe).empty());
  EXPECT_EQ(find_run(plan, "runs/table3/imagewoof/batch-norm-k2.matched/seed-42"), nullptr);
}

TEST(Plan, MeansAreLeftOutWhereSomeOfTheirColumnsAre) {
  const auto means = [](const Request& request) {
    return keys_of(make_plan(find_table("learning-rates"), request).table.means);
  };
  Request request;
  EXPECT_EQ(means(request), (std::vector<std::string>{"cifar100-mean", "imagewoof-mean"}));
  request.only = {"adamw"};
  EXPECT_EQ(means(request).size(), 2U);
  request.only = {"imagewoof-1e-4", "imagewoof-3e-4/adamw", "imagewoof-1e-3",
                  "imagewoof-3e-3", "imagewoof-1e-2",       "cifar100-1e-2"};
  EXPECT_EQ(means(request), std::vector<std::string>{"imagewoof-mean"});
  request.only = {};
  request.quick = true;  // with columns of its own
  EXPECT_TRUE(means(request).empty());
}

TEST(Plan, ARowWhoseBaselineIsNotInTheQuickVersionHasThatOfTheTable) {
  auto table = find_table("learning-rates");
  table.quick->rows = {"adamw", "step4-cosine"};
  Request request;
  request.quick = true;
  const auto plan = make_plan(table, request);
  EXPECT_EQ(plan.table.baseline_of(plan.table.rows[1]), "adamw");
}

TEST(Plan, ABaselineThatIsAskedForIsThatOfAllRows) {
  Request request;
  EXPECT_EQ(make_plan(find_table("learning-rates"), request).table.rows[7].baseline, "adamw-cosine");
  request.baseline = "step4";
  const auto plan = make_plan(find_table("learning-rates"), request);
  for (const auto& row : plan.table.rows) EXPECT_EQ(plan.table.baseline_of(row), "step4") << row.key;
  EXPECT_TRUE(has_difference(plan, "--baseline step4"));
  request.baseline = "adamw";  // the table's, but not that of the rows with cosine
  EXPECT_TRUE(has_difference(make_plan(find_table("learning-rates"), request), "--baseline adamw"));
  request.only = {"cifar100-1e-3/step4"};
  EXPECT_EQ(refusal([&] { make_plan(find_table("learning-rates"), request); }),
            "--baseline adamw: --only leaves it out: add adamw to it.");
  request.only.clear();
  request.baseline = "adamw-cosin";
  EXPECT_EQ(refusal([&] { make_plan(find_table("learning-rates"), request); }),
            "--baseline adamw-cosin: there is no such row; did you mean 'adamw-cosine'?");
  request.baseline = "";
  EXPECT_NE(refusal([&] { make_plan(find_table("learning-rates"), request); }).find("no such row"),
            std::string::npos);
}

TEST(Plan, OnlySomeControlsMayBeAskedFor) {
  Request request;
  request.only = {"cifar100/sadam-k2"};
  request.seeds = {7};
  EXPECT_EQ(make_plan(find_table("table1"), request).runs.size(), 4U);
  request.controls = {Control::matched};
  const auto plan = make_plan(find_table("table1"), request);
  ASSERT_EQ(plan.runs.size(), 2U);
  EXPECT_EQ(plan.runs[1].control, Control::matched);
  request.controls = {control_named("cosine")};
  EXPECT_EQ(make_plan(find_table("table1"), request).runs.back().control, Control::cosine);
  EXPECT_NE(refusal([] { control_named("mached"); }).find("did you mean 'matched'?"), std::string::npos);
}

TEST(Plan, EverySAdamRowHasItsControlsAfterItAndEachColumnOneCosine) {
  Request request;
  request.only = {"cifar100"};
  request.seeds = {7};
  const auto plan = make_plan(find_table("table1"), request);
  // Six rows, two controls for each of four S-Adam rows, one cosine.
  EXPECT_EQ(plan.runs.size(), 6U + 8U + 1U);
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    if (run.control != Control::matched && run.control != Control::shuffled) continue;
    EXPECT_EQ(run.recipe.optimizer.name, "adamw");
    EXPECT_EQ(run.recipe.control.kind, name_of(run.control));
    const auto* const controlled = find_run(plan, run.recipe.control.run);
    ASSERT_NE(controlled, nullptr) << run.recipe.control.run;
    EXPECT_LT(controlled, &run);
    EXPECT_EQ(controlled->seed, run.seed);
    EXPECT_EQ(controlled->row, run.row);
    EXPECT_EQ(controlled->recipe.optimizer.bias_correction, run.recipe.optimizer.bias_correction);
  }
  const auto* const cosine = find_run(plan, "runs/table1/cifar100/adamw.cosine/seed-7");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine->recipe.schedule.name, "cosine");
  EXPECT_EQ(cosine->recipe.optimizer.name, "adamw");
}

TEST(Plan, AReplayedControlHasTheBrakesOfTheNextSeed) {
  Request request;
  request.only = {"cifar100/sadam-k2"};
  request.seeds = {7, 8, 9};
  request.controls = {control_named("replayed")};
  const auto plan = make_plan(find_table("table1"), request);
  EXPECT_EQ(plan.runs.size(), 6U);
  for (const auto& [seed, next] : {std::pair{7, 8}, {8, 9}, {9, 7}}) {
    const auto* const run =
        find_run(plan, fmt::format("runs/table1/cifar100/sadam-k2.replayed/seed-{}", seed));
    const auto* const braked = find_run(plan, fmt::format("runs/table1/cifar100/sadam-k2/seed-{}", next));
    ASSERT_NE(run, nullptr);
    EXPECT_EQ(run->recipe.control.run, braked->folder);
    EXPECT_EQ(run->recipe.control.kind, "replayed");
    EXPECT_EQ(run->recipe.seed, seed);
    EXPECT_LT(braked, run);
  }
}

TEST(Plan, OnlyEpochsSeedsAndSetSelectAndChange) {
  Request request;
  request.only = {"cifar100/adamw"};
  request.epochs = 3;
  request.seeds = {1, 2};
  request.set = {"data.root=/elsewhere"};
  const auto plan = make_plan(find_table("table1"), request);
  ASSERT_EQ(plan.runs.size(), 2U);
  EXPECT_EQ(plan.runs[0].recipe.train.epochs, 3);
  EXPECT_EQ(plan.runs[1].recipe.seed, 2);
  EXPECT_EQ(plan.runs[1].recipe.data.root, "/elsewhere");
  EXPECT_EQ(plan.runs[0].folder, "runs/table1-3-epochs/cifar100/adamw/seed-1");
  EXPECT_NE(std::find(plan.differences.begin(), plan.differences.end(), "3 epochs instead of 10"),
            plan.differences.end());
}

TEST(Plan, QuickSaysThatItsDataAreNotThePapersAndLeavesThePapersNumbersOut) {
  Request request;
  request.quick = true;
  for (const char* name : {"table1", "table2", "table3", "table4", "table5"}) {
    const auto plan = make_plan(find_table(name), request);
    EXPECT_TRUE(std::any_of(plan.differences.begin(), plan.differences.end(), [](const auto& text) {
      return text.find("other data") != std::string::npos;
    })) << name;
    for (const auto& row : plan.table.rows)
      EXPECT_TRUE(row.paper.empty() && row.paper_seconds.empty() && row.paper_wall_seconds.empty() &&
                  row.paper_memory.empty())
          << name;
    for (const auto& run : plan.runs) EXPECT_TRUE(run.recipe.data.name.starts_with("synthetic")) << name;
  }
}

TEST(Plan, ASeedThatIsGivenTwiceOrNegativeIsRefused) {
  Request request;
  request.seeds = {1, 1};
  EXPECT_THROW(make_plan(find_table("table1"), request), UsageError);
  request.seeds = {-1};
  EXPECT_THROW(make_plan(find_table("table1"), request), UsageError);
}

TEST(Plan, OnlyTablesOfThePaperSpeakOfIt) {
  const auto speaks = [](const Plan& plan) {
    return std::any_of(plan.differences.begin(), plan.differences.end(),
                       [](const auto& text) { return text.find("paper") != std::string::npos; });
  };
  Request quick;
  quick.quick = true;
  EXPECT_TRUE(speaks(make_plan(find_table("table3"), quick)));
  const auto own =
      read_table(std::string(kOwnTable) + "[table.quick]\nset = ['train.epochs = 1']\n", "own", "own.toml");
  EXPECT_FALSE(make_plan(own, quick).of_the_paper);
  EXPECT_FALSE(speaks(make_plan(own, quick)));
}

TEST(Plan, WhatARowOrAColumnIsAboutIsNotChangedFromOutside) {
  Request request;
  request.only = {"cifar100/sadam-k2"};
  const auto refused = [&](const std::string& assignment) {
    request.set = {assignment};
    return testing::refusal<UsageError>([&] { make_plan(find_table("table1"), request); });
  };
  EXPECT_TRUE(
      testing::says(refused("optimizer.probes = 8"), "the rows of the table differ in optimizer.probes"));
  EXPECT_TRUE(
      testing::says(refused("optimizer.name=adamw"), "the rows of the table differ in optimizer.name"));
  EXPECT_TRUE(
      testing::says(refused("model.bits=8"), "the column 'cifar100' of the table is about model.bits"));
  for (const char* allowed : {"optimizer.damping=1", "data.pixels=64", "data.root=x", "train.threads=1"}) {
    request.set = {allowed};
    EXPECT_NO_THROW(make_plan(find_table("table1"), request)) << allowed;
  }
}

TEST(Plan, WhatARowIsAboutIsKnownByTheNameThatItHadOnce) {
  auto text = std::string(kOwnTable);
  text += "[[table.row]]\nkey = 'damped'\ntitle = 'Damped'\nset = ['optimizer.damp_weight_decay = true']\n";
  Request request;
  request.set = {"optimizer.damp_decay=false"};
  EXPECT_TRUE(testing::says(
      testing::refusal<UsageError>([&] { make_plan(read_table(text, "own", "own.toml"), request); }),
      "the rows of the table differ in optimizer.damp_decay"));
}

TEST(Plan, QuickIsRefusedOfATableThatDoesNotSayWhatItChanges) {
  Request quick;
  quick.quick = true;
  const auto sentence = sadam::testing::refusal<UsageError>(
      [&] { make_plan(read_table(kOwnTable, "own", "own.toml"), quick); });
  EXPECT_EQ(sentence,
            "own.toml has no [table.quick], which says what --quick changes: add one, or leave --quick out.");
}

TEST(Plan, RemarksAreAboutWhatIsShown) {
  constexpr const char* about_cifar100 = "CIFAR-100 script";
  constexpr const char* kAboutNumbers = "one number a cell";
  Request request;
  EXPECT_TRUE(has_difference(make_plan(find_table("table1"), request), about_cifar100));
  request.only = {"imagewoof"};
  EXPECT_FALSE(has_difference(make_plan(find_table("table1"), request), about_cifar100));
  EXPECT_TRUE(has_difference(make_plan(find_table("table1"), request), kAboutNumbers));
  Request quick;
  quick.quick = true;
  EXPECT_FALSE(has_difference(make_plan(find_table("table1"), quick), about_cifar100));
  EXPECT_FALSE(has_difference(make_plan(find_table("table1"), quick), kAboutNumbers));
  const auto own = read_table(std::string(kOwnTable) + "[table.quick]\n", "own", "own.toml");
  EXPECT_TRUE(has_difference(make_plan(own, quick), "by me"));
}

// The weights are found beside the data wherever these are, so their place is not in the recipe.
TEST(Plan, WeightsAreNamedWithoutAFolder) {
  for (const char* name : {"table3", "table4", "table5"})
    EXPECT_EQ(make_plan(find_table(name), {}).runs.front().recipe.model.weights, "resnet18-f37072fd.pth");
}

TEST(Plan, QuickSaysThatItsBatchesAreOthersOnlyWhereThePaperHasNoneOfThatSize) {
  Request request;
  request.quick = true;
  const auto says = [&](const char* table, const char* sentence) {
    const auto plan = make_plan(find_table(table), request);
    return std::find(plan.differences.begin(), plan.differences.end(), sentence) != plan.differences.end();
  };
  EXPECT_TRUE(says("table3", "batches of 4 instead of 2"));
  EXPECT_TRUE(says("table5", "batches of 16 instead of 2"));
  EXPECT_FALSE(says("table4", "batches of 16 instead of 4"));
}

TEST(Plan, TheTableInTheDocumentsWorks) {
  std::ifstream file("docs/tables.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  const auto toml = text.substr(begin + 8, text.find("```\n", begin + 8) - begin - 8);
  const auto plan = make_plan(read_table(toml, "mine", "tables.md"), {});
  EXPECT_EQ(plan.table.rows.size(), 2U);
  EXPECT_EQ(plan.runs.size(), 2U * (2U + 2U + 1U));  // two seeds: two rows, two controls, one cosine
}

TEST(Plan, KeysThatCannotNameFoldersOfTheirOwnAreRefused) {
  const auto table = [](const std::string& first, const std::string& second) {
    return "[table]\ntitle = 't'\nseeds = [1]\n[[table.column]]\nkey = 'c'\ntitle = 'c'\n[[table.row]]\nkey "
           "= '" +
           first + "'\ntitle = 'a'\n[[table.row]]\nkey = '" + second + "'\ntitle = 'b'\n";
  };
  EXPECT_NO_THROW(read_table(table("a", "b"), "x", "x.toml"));
  for (const char* bad : {"a", "", "..", "../../b", "a.matched", "adamw.cosine", "b.c"})
    EXPECT_THROW(read_table(table("a", bad), "x", "x.toml"), UsageError) << bad;
}

TEST(Plan, MisspeltTablesFieldsAndSelectionsAreRefused) {
  Request request;
  request.only = {"cifar10O"};
  EXPECT_THROW(make_plan(find_table("table1"), request), UsageError);
  EXPECT_THROW(find_table("table9"), UsageError);
  EXPECT_THROW(read_table("[table]\ntitel = 'x'\n", "x", "x.toml"), UsageError);
  EXPECT_THROW(read_table("[train]\nepochs = 1\n", "x", "x.toml"), UsageError);
  EXPECT_THROW(read_table("[table\n", "x", "x.toml"), UsageError);
}

}  // namespace
}  // namespace sadam::reproduce
