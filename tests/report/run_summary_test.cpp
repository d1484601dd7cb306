#include "report/run_summary.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <limits>

#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "support/fake_runs.h"
#include "support/refusal.h"

namespace sadam::report {
namespace {

using sadam::testing::add_irregular_steps;
using sadam::testing::append;
using sadam::testing::recipe_with;
using sadam::testing::says;
using sadam::testing::write_run;

class RunSummaryTest : public sadam::testing::RunsTest {};

TEST_F(RunSummaryTest, TellsWhatAFinishedRunCameTo) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.10, 0.30, 0.20});
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.problem, "");
  EXPECT_EQ(run.epochs_done, 3);
  EXPECT_EQ(run.steps, 30);
  EXPECT_EQ(run.best_accuracy, 0.30);
  EXPECT_EQ(run.best_epoch, 2);
  EXPECT_EQ(run.last_accuracy, 0.20);
  EXPECT_EQ(run.last_test_loss, 1.0);
  EXPECT_NEAR(run.mean_brake.value(), 0.4, 1e-12);
  EXPECT_NEAR(run.mean_lgi.value(), 0.5, 1e-12);
  EXPECT_EQ(run.train_seconds, 15.0);
  EXPECT_EQ(run.evaluate_seconds, 3.0);
  EXPECT_EQ(run.seconds_per_step, 0.5);
  EXPECT_EQ(run.peak_memory, std::int64_t{1} << 30);
}

TEST_F(RunSummaryTest, CountsWhatDidNotGoAsItShould) {
  write_run(paths("a"), recipe_with({"train.epochs=1"}), {0.1});
  auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.counts.skipped + run.counts.non_finite_probes + run.counts.within_noise, 0);
  EXPECT_EQ(run.counts.probed, 10);
  EXPECT_FALSE(run.diverged);
  EXPECT_TRUE(irregularities({&run}).empty());

  add_irregular_steps(paths("a"));
  train::EpochEvent epoch;
  epoch.epoch = 2;
  epoch.step = 13;
  epoch.test_loss = std::numeric_limits<double>::quiet_NaN();
  append(paths("a").events(), train::to_line(epoch));
  run = summarise(paths("a"), "a");
  EXPECT_EQ(run.counts.skipped, 1);
  EXPECT_EQ(run.counts.non_finite_probes, 2);
  EXPECT_EQ(run.counts.within_noise, 1);
  EXPECT_EQ(run.counts.probed, 12);
  EXPECT_TRUE(run.diverged);
  EXPECT_EQ(
      irregularities({&run}),
      (std::vector<std::string>{
          "Diverged, by the last epoch: a.",
          "Steps skipped, because the loss or its gradient was not finite: a (1 of 13).",
          "Probes that were not finite, each of which made the ρ of its step the largest there is: a (2).",
          "Steps whose probes changed the loss by no more than it is rounded, so that their ρ is noise: a "
          "(1 of 12)."}));
}

TEST_F(RunSummaryTest, NamesAFewOfManyIrregularRuns) {
  std::vector<RunSummary> runs(8);
  std::vector<const RunSummary*> pointers;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].name = std::string(1, static_cast<char>('a' + i));
    runs[i].diverged = i != 1;
    pointers.push_back(&runs[i]);
  }
  EXPECT_EQ(irregularities(pointers),
            std::vector<std::string>{"Diverged, by the last epoch: a, c, d, e, f, g and 1 more."});
}

TEST_F(RunSummaryTest, HasNoLgiWhereNothingWasProbedAndNoBrakeWhereNothingBrakes) {
  write_run(paths("a"), recipe_with({"optimizer.name=adamw", "train.epochs=1"}), {0.1});
  write_run(paths("b"), recipe_with({"optimizer.name=prox_sgd", "train.epochs=1"}), {0.1});
  for (const std::string name : {"a", "b"}) {
    const auto run = summarise(paths(name), name);
    EXPECT_FALSE(run.mean_lgi.has_value());
    EXPECT_FALSE(run.mean_brake.has_value());
  }
  write_run(
      paths("c"),
      recipe_with({"optimizer.name=adamw", "control.kind=constant", "control.brake=1", "train.epochs=1"}),
      {0.1});
  EXPECT_EQ(summarise(paths("c"), "c").mean_brake, 1.0);
}

TEST_F(RunSummaryTest, CallsARunBeforeItsLastEpochStopped) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  EXPECT_EQ(summarise(paths("a"), "a").state, RunState::stopped);
}

TEST_F(RunSummaryTest, CallsARunWithoutEventsStopped) {
  write_run(paths("a"), recipe_with({}), {});
  std::filesystem::remove(paths("a").events());
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stopped);
  EXPECT_EQ(run.problem, "");
  EXPECT_FALSE(run.best_accuracy.has_value());
}

TEST_F(RunSummaryTest, CallsARunWhoseFolderIsHeldRunningAndItsLastLineUnfinished) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1});
  append(paths("a").events(), R"({"event": "st)");
  const auto holder = train::RunFolder::open(paths("a").folder);
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_EQ(run.problem, "");
}

TEST_F(RunSummaryTest, SaysHowToGoOnWithARunThatWasKilled) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1});
  append(paths("a").events(), R"({"event": "st)");
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stopped);
  EXPECT_EQ(run.epochs_done, 1);
  EXPECT_NE(run.problem.find("line 12"), std::string::npos) << run.problem;
  EXPECT_NE(run.problem.find("sadam train --resume " + paths("a").folder.string()), std::string::npos)
      << run.problem;
}

// What it would say is what `train --resume` says.
TEST_F(RunSummaryTest, AdvisesToGoOnOnlyWithARunThatGoesOn) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  const auto events = paths("a").events();
  const auto size = std::filesystem::file_size(events);

  std::filesystem::resize_file(events, size - 10);  // in the middle of a line
  auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::damaged);
  EXPECT_TRUE(says(run.problem, events.string() + " has "));
  EXPECT_FALSE(says(run.problem, "--resume"));

  std::filesystem::resize_file(events, 0);  // at the end of one, so to speak
  EXPECT_EQ(summarise(paths("a"), "a").state, RunState::damaged);

  std::filesystem::remove(events);
  run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::damaged);
  EXPECT_TRUE(says(run.problem, events.string() + " is gone"));
}

TEST_F(RunSummaryTest, AFinishedRunWithoutItsEventsIsNotTakenForOneThatHasNotBegun) {
  write_run(paths("a"), recipe_with({"train.epochs=2"}), {0.1, 0.2});
  std::filesystem::remove(paths("a").events());
  EXPECT_EQ(summarise(paths("a"), "a").state, RunState::damaged);
}

TEST_F(RunSummaryTest, ARunThatCannotBeResumedIsStuckKeepsItsNumbersAndSaysWhatIsWrong) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  append(paths("a").events(), R"({"event": "st)");
  std::ofstream(paths("a").checkpoint()) << "garbage";
  auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stuck);
  EXPECT_EQ(run.last_accuracy, 0.2);
  EXPECT_EQ(run.problem,
            paths("a").checkpoint().string() +
                ": this is not a checkpoint of sadam: put the right file back, or start the run anew.");
  std::filesystem::remove(paths("a").checkpoint());
  run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stuck);
  EXPECT_TRUE(says(run.problem, "checkpoint.pt is gone"));
}

TEST_F(RunSummaryTest, ARunWithAFileWhereTensorBoardsFolderBelongsIsStuck) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  ASSERT_EQ(summarise(paths("a"), "a").state, RunState::stopped);
  std::ofstream(paths("a").tensorboard()) << "x";
  auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stuck);
  EXPECT_TRUE(says(run.problem, "move it away"));
  write_run(paths("b"), recipe_with({"train.epochs=3"}), {});  // begun, and not saved yet
  std::ofstream(paths("b").tensorboard()) << "x";
  EXPECT_EQ(summarise(paths("b"), "b").state, RunState::stuck);
}

// The results are all there.
TEST_F(RunSummaryTest, ARunWhoseRecipeWasChangedIsStuck) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  std::ofstream(paths("a").recipe()) << train::to_toml(recipe_with({"train.epochs=3", "seed=1"}));
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stuck);
  EXPECT_TRUE(says(run.problem, "seed"));
}

TEST_F(RunSummaryTest, ARunWithTheCheckpointBeforeTheLastGoesOn) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1, 0.2});
  std::filesystem::rename(paths("a").checkpoint(), paths("a").previous_checkpoint());
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::stopped);
  EXPECT_TRUE(says(run.problem, "checkpoint.pt is gone: the checkpoint before it is used"));
}

TEST_F(RunSummaryTest, AFinishedRunNeedsNoCheckpoint) {
  write_run(paths("a"), recipe_with({"train.epochs=2"}), {0.1, 0.2});
  std::filesystem::remove(paths("a").checkpoint());
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.problem, "");
}

TEST_F(RunSummaryTest, AFolderThatLostItsRecipeIsListed) {
  write_run(paths("a"), recipe_with({}), {0.1});
  std::filesystem::remove(paths("a").recipe());
  const auto runs = summarise_all(root_);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].state, RunState::damaged);
  EXPECT_EQ(runs[0].problem,
            paths("a").folder.string() +
                " has checkpoint.pt in it and no run.toml, which says what the run was told: "
                "put it back, or remove the folder and start the run anew.");
}

TEST_F(RunSummaryTest, AnEmptyRecipeIsNotTheDefaultOne) {
  write_run(paths("a"), recipe_with({}), {0.1});
  std::ofstream(paths("a").recipe()) << "";
  EXPECT_EQ(summarise(paths("a"), "a").state, RunState::damaged);
}

TEST_F(RunSummaryTest, NamesFileAndLineOfDamage) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.1});
  append(paths("a").events(), "rubbish\n");
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::damaged);
  EXPECT_TRUE(run.recipe.has_value());
  EXPECT_NE(run.problem.find("events.jsonl"), std::string::npos) << run.problem;
  EXPECT_NE(run.problem.find("12"), std::string::npos) << run.problem;
}

TEST_F(RunSummaryTest, NamesADamagedRecipe) {
  write_run(paths("a"), recipe_with({}), {0.1});
  append(paths("a").recipe(), "\n[optimizer\n");
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(run.state, RunState::damaged);
  EXPECT_FALSE(run.recipe.has_value());
  EXPECT_NE(run.problem.find("run.toml"), std::string::npos) << run.problem;
}

// As a newer version may leave it.
TEST_F(RunSummaryTest, ARunWithAValueThatThisVersionDoesNotKnowIsUnknownAndNotDamaged) {
  write_run(paths("a"), recipe_with({}), {0.1});
  for (const char* line : {"optimizer.name = \"lion\"\n", "optimizer.memory = 3\n"}) {
    std::ofstream(paths("a").recipe()) << line;
    const auto run = summarise(paths("a"), "a");
    EXPECT_EQ(run.state, RunState::unknown) << line;
    EXPECT_TRUE(says(run.problem, "run.toml:1: "));
  }
}

TEST_F(RunSummaryTest, ConvergenceIsTheTrainingTimeOfTheFirstEpochThatReachesIt) {
  write_run(paths("a"), recipe_with({"train.epochs=3"}), {0.10, 0.30, 0.40});
  const auto run = summarise(paths("a"), "a");
  EXPECT_EQ(seconds_to_reach(run, 0.25), 10.0);
  EXPECT_EQ(seconds_to_reach(run, 0.30), 10.0);
  EXPECT_FALSE(seconds_to_reach(run, 0.41).has_value());
}

TEST_F(RunSummaryTest, FindsARunByFolderAndByName) {
  write_run(paths("deep/adamw"), recipe_with({}), {0.1});
  EXPECT_EQ(named_runs({"deep/adamw"}, root_).at(0).folder, root_ / "deep/adamw");
  EXPECT_EQ(named_runs({(root_ / "deep/adamw/").string()}, "nowhere").at(0).name,
            (root_ / "deep/adamw").string());
}

TEST_F(RunSummaryTest, SuggestsTheRunThatWasMeant) {
  write_run(paths("adamw"), recipe_with({}), {0.1});
  EXPECT_TRUE(says(sadam::testing::refusal<UsageError>([&] { named_runs({"adamv"}, root_); }),
                   "did you mean 'adamw'?"));
}

TEST_F(RunSummaryTest, RefusesTheSameRunTwice) {
  write_run(paths("a"), recipe_with({}), {0.1});
  EXPECT_THROW(named_runs({"a", (root_ / "a").string()}, root_), UsageError);
}

TEST(ShortForms, NameWhatDepartsFromThePreset) {
  EXPECT_EQ(short_optimizer(recipe_with({"optimizer.preset=reference"})), "sadam k=2 reference");
  EXPECT_EQ(short_optimizer(recipe_with({"optimizer.probes=8", "optimizer.damping=0"})),
            "sadam k=8 damping=0");
  EXPECT_EQ(short_optimizer(recipe_with({"optimizer.name=prox_sgd"})), "prox_sgd");
  EXPECT_EQ(
      short_optimizer(recipe_with({"optimizer.name=adamw", "optimizer.lr=5e-4", "schedule.name=cosine"})),
      "adamw cosine lr=0.0005");
  EXPECT_EQ(short_optimizer(recipe_with({"optimizer.name=adamw", "control.kind=matched", "control.run=r"})),
            "adamw matched");
}

TEST(ShortForms, NameTheWidthOfQuantizedModelsAlone) {
  EXPECT_EQ(short_model(recipe_with({"model.bits=4"})), "qatnet 4-bit");
  EXPECT_EQ(short_model(recipe_with({"model.name=resnet18"})), "resnet18");
}

}  // namespace
}  // namespace sadam::report
