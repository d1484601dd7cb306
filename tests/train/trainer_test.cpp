#include "train/trainer.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "train/progress.h"
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
    recipe.train.accumulate = 3;  // four batches: the last step of an epoch has one
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
    EXPECT_EQ(continue_run(made, {}), Outcome::was_finished);
    expect_same(read_events(made.paths().events()), whole);
  }
}

// With steps too small to change a weight, the loss of an accumulated step is the mean of its batches' losses
// over their images.
TEST(Trainer, TheLastStepOfAnEpochTakesTheBatchesThatAreLeft) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();  // batches of 16, 16, 16 and 12 images
  recipe.train.epochs = 1;
  recipe.model.dropout = 0;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.lr = 1e-30;
  const auto batches = run(folder.path() / "1", recipe).steps;
  ASSERT_EQ(batches.size(), 4U);
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    double images = 0;
    for (auto i = from; i < to; ++i) {
      const double size = i == 3 ? 12 : 16;
      sum += size * batches[i].loss;
      images += size;
    }
    return sum / images;
  };
  recipe.train.accumulate = 3;
  const auto threes = run(folder.path() / "3", recipe).steps;
  ASSERT_EQ(threes.size(), 2U);
  EXPECT_NEAR(threes[0].loss, mean(0, 3), 1e-12);
  EXPECT_NEAR(threes[1].loss, mean(3, 4), 1e-12);
  recipe.train.accumulate = 2;
  const auto pairs = run(folder.path() / "2", recipe).steps;
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_NEAR(pairs[1].loss, mean(2, 4), 1e-12);
  recipe.train.accumulate = 9;
  const auto whole = run(folder.path() / "9", recipe).steps;
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_NEAR(whole[0].loss, mean(0, 4), 1e-12);
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

// A run whose brake never brakes and its control are the same training, if they start alike.
TEST(Trainer, AControlHasTheBiasCorrectionOfTheRunItControls) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.optimizer.damping = 0;
  recipe.optimizer.bias_correction = "none";
  const auto free = run(folder.path() / "sadam", recipe);
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder.path() / "sadam").string();
  recipe.control.kind = "matched";
  const auto matched = run(folder.path() / "matched", recipe);
  ASSERT_EQ(matched.steps.size(), free.steps.size());
  for (std::size_t i = 0; i < free.steps.size(); ++i) EXPECT_EQ(matched.steps[i].loss, free.steps[i].loss);
}

// The first process stops before its first step; from then on the S-Adam run may go.
TEST(Trainer, AControlThatGoesOnNeedsItsSAdamRunNoMore) {
  const TemporaryFolder folder;
  run(folder.path() / "sadam", small_recipe());
  auto recipe = small_recipe();
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder.path() / "sadam").string();
  DataSets data;
  std::vector<RunFolder> begun;
  std::vector<EventFile> whole;
  for (const char* kind : {"matched", "shuffled"}) {
    recipe.control.kind = kind;
    whole.push_back(run(folder.path() / (std::string(kind) + "-whole"), recipe));
    begun.push_back(begin_run(folder.path() / kind, recipe, data));
    const std::atomic<bool> stop = true;
    EXPECT_EQ(continue_run(begun.back(), {.stop = &stop}), Outcome::stopped);
  }
  std::filesystem::rename(folder.path() / "sadam", folder.path() / "elsewhere");
  for (std::size_t i = 0; i < begun.size(); ++i) {
    ASSERT_EQ(continue_run(begun[i], {}), Outcome::finished);
    const auto events = read_events(begun[i].paths().events());
    expect_same(events, whole[i]);
    for (std::size_t s = 0; s < events.steps.size(); ++s)
      EXPECT_EQ(events.steps[s].brake, whole[i].steps[s].brake);
  }
}

TEST(Trainer, ARunThatGoesOnNeedsTheWeightsItStartedFromNoMore) {
  const TemporaryFolder folder;
  run(folder.path() / "first", small_recipe());
  const RunPaths first{folder.path() / "first"};
  const auto weights = folder.path() / "start.safetensors";
  base::write_file_atomically(weights, export_run(first, recipe_of(first)));
  auto recipe = small_recipe();
  recipe.data.name = "synthetic100";  // so that the last layer starts anew, and a note says so
  recipe.data.train_images = 200;
  recipe.data.test_images = 100;
  recipe.model.weights = weights.string();
  const auto whole = run(folder.path() / "whole", recipe);
  DataSets data;
  const auto made = begin_run(folder.path() / "stopped", recipe, data);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(continue_run(made, {.stop = &stop}), Outcome::stopped);
  std::filesystem::remove(weights);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  const auto events = read_events(made.paths().events());
  expect_same(events, whole);
  EXPECT_EQ(events.notes.size(), 1U);
}

// What a run says that is told to be quiet.
std::string said_quietly(const std::filesystem::path& folder, const Recipe& recipe) {
  DataSets data;
  std::ostringstream said;
  Progress progress(said, {.style = ProgressStyle::quiet});
  EXPECT_EQ(continue_run(begin_run(folder, recipe, data), {.progress = &progress}), Outcome::finished);
  return said.str();
}

TEST(Trainer, ARunThatDivergesSaysSoAndCountsWhatItSkipped) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.optimizer.lr = 1e30;
  EXPECT_EQ(said_quietly(folder.path() / "a", recipe),
            "7 of 8 steps were skipped, because the loss or the gradient was not finite.\n"
            "Training diverged: every step of the last epoch was skipped; try a smaller optimizer.lr.\n");
  const auto events = read_events(RunPaths{folder.path() / "a"}.events());
  EXPECT_EQ(std::count_if(events.steps.begin(), events.steps.end(), [](const auto& s) { return s.skipped; }),
            7);
  // The mean is over what there is of it.
  EXPECT_EQ(events.epochs[0].train_loss, events.steps[0].loss);
  EXPECT_TRUE(std::isnan(events.epochs[1].train_loss));
}

TEST(Trainer, ABatchThatTheNetworkCannotTakeIsRefusedBeforeThereIsAFolder) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.model.name = "resnet18";
  recipe.data.train_images = 61;
  recipe.train.batch = 4;
  DataSets data;
  const auto begin = [&] { begin_run(folder.path() / "a", recipe, data); };
  EXPECT_TRUE(testing::says(testing::refusal(begin), "61 images in batches of 4 leave one alone"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
  recipe.data.train_images = 62;
  begin();
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a"));
}

TEST(Trainer, AWarmUpThatNeverEndsIsSaid) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.schedule.warmup = 1000000;
  const auto said = said_quietly(folder.path() / "a", recipe);
  EXPECT_TRUE(said.starts_with("schedule.warmup is 1000000 steps and the whole run has 8: ")) << said;
}

TEST(Trainer, ProbesThatOnlySeeRoundingAreCounted) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.optimizer.radius = 1e-17;
  const auto said = said_quietly(folder.path() / "a", recipe);
  EXPECT_TRUE(said.starts_with("In 8 of 8 probed steps")) << said;
}

TEST(Trainer, EvaluatingARunGivesWhatItsLastEpochSaid) {
  const TemporaryFolder folder;
  const auto events = run(folder.path() / "a", small_recipe());
  const RunPaths paths{folder.path() / "a"};
  const auto evaluation = evaluate_run(paths, recipe_of(paths), nullptr).value();
  EXPECT_EQ(evaluation.accuracy, events.epochs.back().test_accuracy);
  EXPECT_EQ(evaluation.loss, events.epochs.back().test_loss);
  EXPECT_EQ(evaluation.images, 40);
  EXPECT_EQ(evaluation.step, 8);
  EXPECT_EQ(evaluation.epoch, 2);
}

TEST(Trainer, ADamagedCheckpointIsNamedAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  DataSets data;
  const auto made = begin_run(folder.path() / "a", small_recipe(), data);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  const auto checkpoint = made.paths().checkpoint();
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  const auto events = std::filesystem::file_size(made.paths().events());
  EXPECT_TRUE(sadam::testing::says(testing::refusal([&] { continue_run(made, {}); }), "checkpoint.pt"));
  EXPECT_EQ(std::filesystem::file_size(made.paths().events()), events);
}

}  // namespace
}  // namespace sadam::train
