#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "nn/weights/tensor_file.h"
#include "support/refusal.h"
#include "support/small_runs.h"
#include "support/temporary_folder.h"
#include "train/progress.h"
#include "train/record/events.h"
#include "train/setup.h"
#include "train/trained_run.h"

namespace sadam::train {
namespace {

using sadam::testing::expect_same_events;
using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::small_recipe;
using sadam::testing::whole_run;

TEST(Trainer, TwoRunsOfOneRecipeAreTheSameToTheBit) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.train.threads = 2;
  const auto a = whole_run(folder / "a", recipe);
  const auto b = whole_run(folder / "b", recipe);
  ASSERT_EQ(a.steps.size(), 8U);  // four batches, the last one smaller, twice
  expect_same_events(a, b);
  const RunPaths first{folder / "a"};
  const RunPaths second{folder / "b"};
  EXPECT_EQ(export_run(first, recipe_of(first)), export_run(second, recipe_of(second)));
}

TEST(Trainer, AnotherSeedIsAnotherRun) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  const auto a = whole_run(folder / "a", recipe);
  recipe.seed = 43;
  const auto b = whole_run(folder / "b", recipe);
  EXPECT_NE(a.steps.front().loss, b.steps.front().loss);
}

// Stops as Ctrl-C would, before anything has happened and then after each step, in the middle of each
// evaluation and after it; and goes on in what is as good as a new process.
TEST(Trainer, ARunStoppedAgainAndAgainEndsAsOneThatWasNot) {
  const TemporaryFolder folder;
  for (const char* optimizer : {"sadam", "prox_sgd"}) {
    auto recipe = small_recipe(3);
    recipe.train.accumulate = 3;  // four batches: the last step of an epoch has one
    recipe.optimizer.name = optimizer;
    recipe.optimizer.interval = 2;
    recipe.schedule.name = "cosine";
    recipe.watch.chatter = 4;  // windows that end within epochs and are cut by stops
    const auto whole = whole_run(folder / (std::string(optimizer) + "-whole"), recipe);
    DataSets data;
    const auto made = begin_run(folder / optimizer, recipe, data);
    int stops = 0;
    for (;; ++stops) {
      sadam::testing::StopAfter stop(stops == 0 ? 0 : 1);
      if (continue_run(made, stop.options()) == Outcome::finished) break;
      ASSERT_LT(stops, 100) << "it does not get on";
    }
    EXPECT_EQ(stops, 1 + 3 * 3 - 1) << "two steps and an evaluation an epoch, the last of which ends the run";
    expect_same_events(read_events(made.paths().events()), whole);
    // A finished run is left alone.
    EXPECT_EQ(continue_run(made, {}), Outcome::was_finished);
    expect_same_events(read_events(made.paths().events()), whole);
  }
}

TEST(Trainer, GroupsThatAreProbedOneByOneAreOnRecord) {
  const TemporaryFolder folder;
  auto recipe = small_recipe(1);
  EXPECT_TRUE(whole_run(folder / "together", recipe).steps.front().group_lgi.empty());
  recipe.optimizer.group_by_group = true;
  for (const auto& step : whole_run(folder / "one-by-one", recipe).steps) {
    EXPECT_EQ(step.group_lgi, std::vector<double>{step.lgi});
    EXPECT_EQ(step.group_brakes, std::vector<double>{step.brake});
  }
}

// The gradient is that of the whole batch: with λ = 0 the run is the same, and its ρ another.
TEST(Trainer, ProbesMaySeePartOfABatchAndTheGradientAllOfIt) {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name, std::int64_t images, double damping) {
    auto recipe = small_recipe();
    recipe.optimizer.damping = damping;
    recipe.optimizer.monitor = true;
    recipe.train.probe_images = images;
    return whole_run(folder.path() / name, recipe);
  };
  const auto whole = run("whole", 0, 0);
  const auto part = run("part", 4, 0);
  ASSERT_EQ(whole.steps.size(), part.steps.size());
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    EXPECT_EQ(whole.steps[i].loss, part.steps[i].loss) << i;
    EXPECT_NE(whole.steps[i].lgi, part.steps[i].lgi) << i;
  }
  expect_same_events(run("all of it", 1000, 2), run("as many as there are", 0, 2));
}

TEST(Trainer, WatchesHowMuchTheWeightsGoBackAndForth) {
  const TemporaryFolder folder;
  auto recipe = small_recipe(2);
  recipe.watch.chatter = 3;
  const auto watched = whole_run(folder / "watched", recipe);
  ASSERT_EQ(watched.chatter.size(), 2U);  // of 8 steps
  EXPECT_EQ(watched.chatter[0].step, 3);
  EXPECT_EQ(watched.chatter[1].step, 6);
  for (const auto& window : watched.chatter) {
    EXPECT_EQ(window.window, 3);
    EXPECT_GT(window.chatter, 0);
    EXPECT_LT(window.chatter, 1);
    EXPECT_GT(window.flips, 0);
    EXPECT_LT(window.flips, 1);
  }
  // Watching changes nothing.
  recipe.watch.chatter = 0;
  auto plain = whole_run(folder / "plain", recipe);
  EXPECT_TRUE(plain.chatter.empty());
  plain.chatter = watched.chatter;
  expect_same_events(plain, watched);
}

// In two bits, steps that became too small to cross a rounding cell do nothing of what the gradient
// foretells: ρ along the step rises.
TEST(Trainer, NoticesWhereInstabilityChangesAndGoesOnNoticingAfterAStop) {
  const TemporaryFolder folder;
  auto recipe = small_recipe(20);
  recipe.optimizer.directions = "step";
  recipe.optimizer.statistic = "residual";
  recipe.optimizer.lr = 0.02;
  recipe.schedule.name = "step";
  recipe.schedule.every = 12;
  recipe.schedule.factor = 1e-3;
  recipe.watch.regimes = 1;
  const auto whole = whole_run(folder / "whole", recipe);
  ASSERT_FALSE(whole.regimes.empty());
  bool of_lgi = false;
  bool of_residual = false;
  for (const auto& change : whole.regimes) {
    if (change.step < 48) continue;  // twelve epochs of four steps
    // The residual itself, f(w + Δ) − f(w) − ⟨g,Δ⟩, shrinks with the step.
    of_lgi = of_lgi || (change.quantity == "lgi" && change.after > change.before);
    of_residual = of_residual || (change.quantity == "residual" && change.after < change.before);
    EXPECT_EQ(change.score > 0, change.after > change.before);
  }
  EXPECT_TRUE(of_lgi);
  EXPECT_TRUE(of_residual);
  DataSets data;
  const auto made = begin_run(folder / "stopped", recipe, data);
  sadam::testing::StopAfter stop(55);
  ASSERT_EQ(continue_run(made, stop.options()), Outcome::stopped);
  ASSERT_EQ(continue_run(made, {}), Outcome::finished);
  expect_same_events(read_events(made.paths().events()), whole);
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
  const auto batches = whole_run(folder / "1", recipe).steps;
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
  const auto threes = whole_run(folder / "3", recipe).steps;
  ASSERT_EQ(threes.size(), 2U);
  EXPECT_NEAR(threes[0].loss, mean(0, 3), 1e-12);
  EXPECT_NEAR(threes[1].loss, mean(3, 4), 1e-12);
  recipe.train.accumulate = 2;
  const auto pairs = whole_run(folder / "2", recipe).steps;
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_NEAR(pairs[1].loss, mean(2, 4), 1e-12);
  recipe.train.accumulate = 9;
  const auto whole = whole_run(folder / "9", recipe).steps;
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_NEAR(whole[0].loss, mean(0, 4), 1e-12);
}

TEST(Trainer, AControlMayHaveLongerStepsThanAdamW) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.optimizer.directions = "step";
  recipe.optimizer.statistic = "residual";
  recipe.optimizer.brake = "held";
  recipe.optimizer.target = 1;
  recipe.optimizer.ceiling = 4;
  whole_run(folder / "sadam", recipe);
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder / "sadam").string();
  recipe.control.kind = "matched";
  const auto matched = whole_run(folder / "matched", recipe);
  EXPECT_GT(matched.steps.front().brake, 1);
  EXPECT_EQ(recipe_of(RunPaths{folder / "matched"}).control.brake, matched.steps.front().brake);
}

TEST(Trainer, AMatchedControlTakesTheMeanBrakeAndAShuffledOneTheSameBrakes) {
  const TemporaryFolder folder;
  const auto braked = whole_run(folder / "sadam", small_recipe());
  double mean = 0;
  std::vector<double> brakes;
  for (const auto& step : braked.steps) {
    brakes.push_back(step.brake);
    mean += step.brake / static_cast<double>(braked.steps.size());
  }
  auto recipe = small_recipe();
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder / "sadam").string();
  recipe.control.kind = "matched";
  const auto matched = whole_run(folder / "matched", recipe);
  for (const auto& step : matched.steps) EXPECT_NEAR(step.brake, mean, 1e-15);
  EXPECT_NEAR(recipe_of(RunPaths{folder / "matched"}).control.brake, mean, 1e-15);

  recipe.control.kind = "shuffled";
  const auto shuffled = whole_run(folder / "shuffled", recipe);
  std::vector<double> found;
  for (const auto& step : shuffled.steps) found.push_back(step.brake);
  EXPECT_NE(found, brakes);

  recipe.control.kind = "replayed";
  const auto replayed = whole_run(folder / "replayed", recipe);
  ASSERT_EQ(replayed.steps.size(), brakes.size());
  for (std::size_t i = 0; i < brakes.size(); ++i) EXPECT_EQ(replayed.steps[i].brake, brakes[i]);
  ++recipe.train.epochs;
  EXPECT_TRUE(says(refusal([&] { whole_run(folder / "longer", recipe); }), "took other steps"));

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
  const auto free = whole_run(folder / "sadam", recipe);
  recipe.optimizer = {};
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder / "sadam").string();
  recipe.control.kind = "matched";
  const auto matched = whole_run(folder / "matched", recipe);
  ASSERT_EQ(matched.steps.size(), free.steps.size());
  for (std::size_t i = 0; i < free.steps.size(); ++i) EXPECT_EQ(matched.steps[i].loss, free.steps[i].loss);
}

// The first process stops before its first step; from then on the S-Adam run may go.
TEST(Trainer, AControlThatGoesOnNeedsItsSAdamRunNoMore) {
  const TemporaryFolder folder;
  whole_run(folder / "sadam", small_recipe());
  auto recipe = small_recipe();
  recipe.optimizer.name = "adamw";
  recipe.control.run = (folder / "sadam").string();
  DataSets data;
  std::vector<RunFolder> begun;
  std::vector<EventFile> whole;
  for (const char* kind : {"matched", "shuffled", "replayed"}) {
    recipe.control.kind = kind;
    whole.push_back(whole_run(folder / (std::string(kind) + "-whole"), recipe));
    begun.push_back(begin_run(folder / kind, recipe, data));
    const std::atomic<bool> stop = true;
    EXPECT_EQ(continue_run(begun.back(), {.stop = &stop}), Outcome::stopped);
  }
  std::filesystem::rename(folder / "sadam", folder / "elsewhere");
  for (std::size_t i = 0; i < begun.size(); ++i) {
    ASSERT_EQ(continue_run(begun[i], {}), Outcome::finished);
    const auto events = read_events(begun[i].paths().events());
    expect_same_events(events, whole[i]);
    for (std::size_t s = 0; s < events.steps.size(); ++s)
      EXPECT_EQ(events.steps[s].brake, whole[i].steps[s].brake);
  }
}

TEST(Trainer, ARunThatGoesOnNeedsTheWeightsItStartedFromNoMore) {
  const TemporaryFolder folder;
  whole_run(folder / "first", small_recipe());
  const RunPaths first{folder / "first"};
  const auto weights = folder / "start.safetensors";
  base::write_file_atomically(weights, export_run(first, recipe_of(first)));
  auto recipe = small_recipe();
  recipe.data.name = "synthetic100";  // so that the last layer starts anew, and a note says so
  recipe.data.train_images = 200;
  recipe.data.test_images = 100;
  recipe.model.weights = weights.string();
  const auto whole = whole_run(folder / "whole", recipe);
  DataSets data;
  const auto made = begin_run(folder / "stopped", recipe, data);
  const std::atomic<bool> stop = true;
  EXPECT_EQ(continue_run(made, {.stop = &stop}), Outcome::stopped);
  std::filesystem::remove(weights);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  const auto events = read_events(made.paths().events());
  expect_same_events(events, whole);
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
  EXPECT_EQ(said_quietly(folder / "a", recipe),
            "7 of 8 steps were skipped, because the loss or the gradient was not finite.\n"
            "Training diverged: every step of the last epoch was skipped; try a smaller optimizer.lr.\n");
  const auto events = read_events(RunPaths{folder / "a"}.events());
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
  const auto begin = [&] { begin_run(folder / "a", recipe, data); };
  EXPECT_TRUE(says(refusal(begin), "61 images in batches of 4 leave one alone"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  recipe.data.train_images = 62;
  begin();
  EXPECT_TRUE(std::filesystem::exists(folder / "a"));
}

TEST(Trainer, AWarmUpThatNeverEndsIsSaid) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.schedule.warmup = 1000000;
  const auto said = said_quietly(folder / "a", recipe);
  EXPECT_TRUE(said.starts_with("schedule.warmup is 1000000 steps and the whole run has 8: ")) << said;
}

TEST(Trainer, ProbesThatOnlySeeRoundingAreCounted) {
  const TemporaryFolder folder;
  auto recipe = small_recipe();
  recipe.optimizer.radius = 1e-17;
  const auto said = said_quietly(folder / "a", recipe);
  EXPECT_TRUE(said.starts_with("In 8 of 8 probed steps")) << said;
}

TEST(Trainer, EvaluatingARunGivesWhatItsLastEpochSaid) {
  const TemporaryFolder folder;
  const auto events = whole_run(folder / "a", small_recipe());
  const RunPaths paths{folder / "a"};
  const auto evaluation = evaluate_run(paths, recipe_of(paths), nullptr).value();
  EXPECT_EQ(evaluation.accuracy, events.epochs.back().test_accuracy);
  EXPECT_EQ(evaluation.loss, events.epochs.back().test_loss);
  EXPECT_EQ(evaluation.images, 40);
  EXPECT_EQ(evaluation.step, 8);
  EXPECT_EQ(evaluation.epoch, 2);
}

TEST(Trainer, AnEvaluationSaysHowEveryClassDoes) {
  const TemporaryFolder folder;
  whole_run(folder / "a", small_recipe());
  const RunPaths paths{folder / "a"};
  const auto evaluation = evaluate_run(paths, recipe_of(paths), nullptr).value();
  ASSERT_EQ(evaluation.classes.size(), 10U);
  std::int64_t right = 0;
  for (const auto& each : evaluation.classes) {
    EXPECT_EQ(each.images, 4);
    right += each.right;
  }
  EXPECT_EQ(static_cast<double>(right) / 40, evaluation.accuracy);
  EXPECT_GE(evaluation.top5_accuracy.value(), evaluation.accuracy);
  EXPECT_LT(evaluation.top5_accuracy.value(), 1);
}

TEST(Trainer, ExportedWeightsSayWhatImagesTheyAreFor) {
  const TemporaryFolder folder;
  whole_run(folder / "a", small_recipe(1));
  const RunPaths paths{folder / "a"};
  base::write_file_atomically(folder / "w.safetensors", export_run(paths, recipe_of(paths)));
  auto metadata = weights::read_weights(folder / "w.safetensors").metadata;
  EXPECT_EQ(metadata["mean"], "[0.5, 0.5, 0.5]");
  EXPECT_EQ(metadata["std"], "[0.5, 0.5, 0.5]");
  EXPECT_EQ(metadata["pixels"], "32");
  EXPECT_EQ(metadata["classes"], "10");
}

TEST(Trainer, ARunSaysWhenAndWhereItStartedAndWithWhatCommand) {
  const TemporaryFolder folder;
  DataSets data;
  const auto made = begin_run(folder / "a", small_recipe(), data);
  const auto text = text_of_file(made.paths().recipe());
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\nstarted = "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\n)")))
      << text;
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\nhost = "[^"]+"\n)"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\ncommand = "program_test)"))) << text;
  // Nothing of it is a part of the recipe.
  EXPECT_EQ(recipe_of(made.paths()), small_recipe());
}

TEST(Trainer, ADamagedCheckpointIsNamedAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  DataSets data;
  const auto made = begin_run(folder / "a", small_recipe(), data);
  EXPECT_EQ(continue_run(made, {}), Outcome::finished);
  const auto checkpoint = made.paths().checkpoint();
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  std::filesystem::remove(made.paths().previous_checkpoint());
  const auto events = std::filesystem::file_size(made.paths().events());
  EXPECT_TRUE(says(refusal([&] { continue_run(made, {}); }), "checkpoint.pt"));
  EXPECT_EQ(std::filesystem::file_size(made.paths().events()), events);
}

}  // namespace
}  // namespace sadam::train
