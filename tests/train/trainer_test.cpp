#include "train/trainer.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/temporary_folder.h"
#include "train/record/events.h"
#include "train/setup.h"
#include "train/use_run.h"

namespace sadam::train {
namespace {

Recipe small_recipe() {
  Recipe recipe;
  recipe.data.name = "synthetic10";
  recipe.data.train_images = 60;
  recipe.data.test_images = 40;
  recipe.train.batch = 16;
  recipe.train.epochs = 2;
  recipe.train.threads = 1;
  return recipe;
}

EventFile run(const std::filesystem::path& folder, const Recipe& recipe) {
  DataSets data;
  const auto made = begin_run(folder, recipe, data);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  return read_events(made.paths().events());
}

void expect_same(const EventFile& a, const EventFile& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << "step " << i;
    EXPECT_EQ(a.steps[i].lgi, b.steps[i].lgi) << "step " << i;
    EXPECT_EQ(a.steps[i].lr, b.steps[i].lr) << "step " << i;
  }
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    EXPECT_EQ(a.epochs[i].test_loss, b.epochs[i].test_loss);
    EXPECT_EQ(a.epochs[i].train_loss, b.epochs[i].train_loss);
    EXPECT_EQ(a.epochs[i].test_accuracy, b.epochs[i].test_accuracy);
  }
}

TEST(Trainer, TwoRunsOfOneRecipeAreTheSameToTheBit) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.train.threads = 2;
  const auto a = run(folder.path() / "a", recipe);
  const auto b = run(folder.path() / "b", recipe);
  ASSERT_EQ(a.steps.size(), 8U);  // four batches, the last one smaller, twice
  expect_same(a, b);
  const RunPaths first{folder.path() / "a"};
  const RunPaths second{folder.path() / "b"};
  EXPECT_EQ(export_run(first, recipe_of(first)), export_run(second, recipe_of(second)));
}

TEST(Trainer, AnotherSeedIsAnotherRun) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  const auto a = run(folder.path() / "a", recipe);
  recipe.seed = 43;
  const auto b = run(folder.path() / "b", recipe);
  EXPECT_NE(a.steps.front().loss, b.steps.front().loss);
}

// Stops again and again, as Ctrl-C would, and goes on in what is as good as a new process.
TEST(Trainer, ARunStoppedAgainAndAgainEndsAsOneThatWasNot) {
  const TemporaryFolder folder;
  for (const char* optimizer : {"sadam", "prox_sgd"}) {
    auto recipe = small_recipe();
    recipe.train.epochs = 3;
    recipe.train.accumulate = 2;
    recipe.optimizer.name = optimizer;
    recipe.optimizer.interval = 2;
    recipe.schedule.name = "cosine";
    const auto whole = run(folder.path() / (std::string(optimizer) + "-whole"), recipe);
    DataSets data;
    const auto made = begin_run(folder.path() / optimizer, recipe, data);
    int stops = 0;
    for (bool finished = false; !finished; ++stops) {
      std::atomic<bool> stop = stops == 0;  // the first time before anything has happened
      std::thread interrupt([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(15 + 2 * stops));
        stop = true;
      });
      finished = continue_run(made, {.stop = &stop}) == Outcome::finished;
      interrupt.join();
    }
    EXPECT_GT(stops, 1) << "was never stopped";
    expect_same(read_events(made.paths().events()), whole);
    // A finished run is left alone.
    EXPECT_EQ(continue_run(made, {}), Outcome::finished);
    expect_same(read_events(made.paths().events()), whole);
  }
}

TEST(Trainer, AMatchedControlTakesTheMeanBrakeAndAShuffledOneTheSameBrakes) {
  const TemporaryFolder folder;
  const auto braked = run(folder.path() / "sadam", small_recipe());
  double mean = 0;
  std::vector<double> brakes;
  for (const auto& step : braked.steps) {
    brakes.push_back(step.brake);
    mean += step.brake / static_cast<double>(braked.steps.size());
  }
  auto recipe = small_recipe();
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder.path() / "sadam").string();
  recipe.control.kind = "matched";
  const auto matched = run(folder.path() / "matched", recipe);
  for (const auto& step : matched.steps) EXPECT_NEAR(step.brake, mean, 1e-15);
  EXPECT_NEAR(recipe_of(RunPaths{folder.path() / "matched"}).control.brake, mean, 1e-15);

  recipe.control.kind = "shuffled";
  const auto shuffled = run(folder.path() / "shuffled", recipe);
  std::vector<double> found;
  for (const auto& step : shuffled.steps) found.push_back(step.brake);
  EXPECT_NE(found, brakes);
  std::sort(found.begin(), found.end());
  std::sort(brakes.begin(), brakes.end());
  EXPECT_EQ(found, brakes);
}

TEST(Trainer, EvaluatingARunGivesWhatItsLastEpochSaid) {
  const TemporaryFolder folder;
  const auto events = run(folder.path() / "a", small_recipe());
  const RunPaths paths{folder.path() / "a"};
  const auto evaluation = evaluate_run(paths, recipe_of(paths), nullptr).value();
  EXPECT_EQ(evaluation.accuracy, events.epochs.back().test_accuracy);
  EXPECT_EQ(evaluation.loss, events.epochs.back().test_loss);
  EXPECT_EQ(evaluation.images, 40);
}

TEST(Trainer, ADamagedCheckpointIsNamedAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  DataSets data;
  const auto made = begin_run(folder.path() / "a", small_recipe(), data);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  const auto checkpoint = made.paths().checkpoint();
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  const auto events = std::filesystem::file_size(made.paths().events());
  try {
    continue_run(made, {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("checkpoint.pt"), std::string::npos) << error.what();
  }
  EXPECT_EQ(std::filesystem::file_size(made.paths().events()), events);
}

}  // namespace
}  // namespace sadam::train
