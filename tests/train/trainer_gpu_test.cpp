// Whole runs on a GPU.
#include "train/trainer.h"

#include <c10/cuda/CUDAFunctions.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "support/gpu.h"
#include "support/small_gpu.h"
#include "support/small_runs.h"
#include "support/temporary_folder.h"
#include "train/chatter.h"
#include "train/checkpoint.h"
#include "train/recipe/source.h"
#include "train/record/events.h"
#include "train/setup.h"
#include "train/trained_run.h"
#include "train/training.h"

namespace sadam::train {
namespace {

using sadam::testing::expect_same_events;
using sadam::testing::whole_run;

Recipe gpu_recipe() {
  Recipe recipe;
  recipe.data.name = "synthetic10";
  recipe.data.train_images = 600;
  recipe.data.test_images = 100;
  recipe.train.batch = 64;  // the last batch of an epoch has 24
  recipe.train.epochs = 3;
  recipe.train.threads = 1;
  recipe.train.device = "cuda";
  return recipe;
}

std::vector<std::byte> weights_in(const std::filesystem::path& folder) {
  const RunPaths paths{folder};
  return export_run(paths, recipe_of(paths));
}

TEST(TrainerOnGpu, WatchesChattering) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  auto recipe = gpu_recipe();
  recipe.train.deterministic = true;
  recipe.watch.chatter = 7;  // ten steps an epoch
  const auto whole = whole_run(folder / "whole", recipe);
  ASSERT_EQ(whole.chatter.size(), 4U);
  for (const auto& window : whole.chatter) {
    EXPECT_GT(window.chatter, 0);
    EXPECT_LT(window.chatter, 1);
    EXPECT_GT(window.flips, 0);
    EXPECT_LT(window.flips, 1);
  }
  EXPECT_EQ(whole.notes.at(0).text, "images live on the GPU; a step is one CUDA graph, probes on 2 streams");
}

// A step that waited for the device would throw.
TEST(ChatterOnGpu, WaitsForNothingAndMeasuresWhatTheCpuDoes) {
  SADAM_NEEDS_GPU();
  torch::manual_seed(3);
  std::vector<torch::Tensor> path;
  for (int i = 0; i < 9; ++i) path.push_back(torch::randn({50}));
  const auto here = path.front().clone();
  const auto there = path.front().cuda();
  ChatterMeter on_cpu({here}, 4);
  ChatterMeter on_gpu({there}, 4);
  std::vector<torch::Tensor> moved;
  for (const auto& point : path) moved.push_back(point.cuda());
  for (std::size_t i = 1; i < path.size(); ++i) {
    here.copy_(path[i]);
    on_cpu.step();
  }
  auto& state = c10::cuda::warning_state();
  const auto before = state.get_sync_debug_mode();
  state.set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
  for (std::size_t i = 1; i < path.size(); ++i) {
    there.copy_(moved[i]);
    EXPECT_NO_THROW(on_gpu.step());
  }
  state.set_sync_debug_mode(before);
  const auto a = on_cpu.take();
  const auto b = on_gpu.take();
  ASSERT_EQ(a.size(), 2U);
  ASSERT_EQ(b.size(), 2U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i].chatter, b[i].chatter, 1e-5);
    EXPECT_EQ(a[i].flips, b[i].flips);
  }
}

TEST(TrainerOnGpu, TakesStepsAsGraphsWithProbesSideBySideFromImagesOnTheDevice) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  auto recipe = gpu_recipe();
  recipe.train.epochs = 1;
  recipe.optimizer.probes = 3;
  const auto way_of = [&](const std::string& name) {
    const auto events = whole_run(folder.path() / name, recipe);
    return events.notes.size() == 1 ? events.notes[0].text : "notes: " + std::to_string(events.notes.size());
  };
  EXPECT_EQ(way_of("sadam"), "images live on the GPU; a step is one CUDA graph, probes on 3 streams");
  recipe.optimizer.name = "adamw";
  EXPECT_EQ(way_of("adamw"), "images live on the GPU; a step is one CUDA graph");
  recipe.train.clip = 1;
  EXPECT_EQ(way_of("clipped"),
            "images live on the GPU; steps are taken eagerly, because the recipe clips or accumulates");
}

TEST(TrainerOnGpu, DeterministicRunsAreTheSameToTheBit) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  auto recipe = gpu_recipe();
  recipe.train.deterministic = true;
  const auto a = whole_run(folder.path() / "a", recipe);
  const auto b = whole_run(folder.path() / "b", recipe);
  ASSERT_EQ(a.steps.size(), 30U);
  expect_same_events(a, b);
  EXPECT_EQ(weights_in(folder.path() / "a"), weights_in(folder.path() / "b"));
}

void expect_stopped_ends_as_whole(const Recipe& recipe) {
  const TemporaryFolder folder;
  const auto whole = whole_run(folder.path() / "whole", recipe);
  DataSets data;
  const auto made = begin_run(folder.path() / "stopped", recipe, data);
  int stops = 0;
  bool in_the_middle = false;
  for (bool finished = false; !finished; ++stops) {
    std::atomic<bool> stop = false;
    std::thread interrupt([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + 20 * stops));
      stop = true;
    });
    finished = continue_run(made, {.stop = &stop}) == Outcome::finished;
    interrupt.join();
    const auto steps = read_events(made.paths().events()).steps.size();
    in_the_middle = in_the_middle || (steps > 0 && steps < whole.steps.size());
  }
  EXPECT_TRUE(in_the_middle) << "was stopped " << stops << " times, never between two steps";
  expect_same_events(read_events(made.paths().events()), whole);
  EXPECT_EQ(weights_in(folder.path() / "whole"), weights_in(folder.path() / "stopped"));
}

TEST(TrainerOnGpu, ADeterministicRunThatWasStoppedEndsAsOneThatWasNot) {
  SADAM_NEEDS_GPU();
  auto recipe = gpu_recipe();
  recipe.train.deterministic = true;
  recipe.optimizer.interval = 2;
  recipe.watch.chatter = 7;
  expect_stopped_ends_as_whole(recipe);
}

TEST(TrainerOnGpu, ARunUphillWithAnAverageThatWasStoppedEndsAsOneThatWasNot) {
  SADAM_NEEDS_GPU();
  auto recipe = gpu_recipe();
  recipe.train.deterministic = true;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.gradient_at = "ascent";
  recipe.average.decay = 0.9;
  expect_stopped_ends_as_whole(recipe);
}

TEST(TrainerOnGpu, RivalsAreCapturedAndEvaluatedAgainToTheSame) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  for (const std::string place : {"ascent", "adaptive_ascent", "nearby"}) {
    auto recipe = gpu_recipe();
    recipe.optimizer.name = "adamw";
    recipe.optimizer.gradient_at = place;
    recipe.optimizer.final_ratio = 100;
    recipe.average.decay = 0.9;
    const auto events = whole_run(folder.path() / place, recipe);
    ASSERT_EQ(events.notes.size(), 1U) << place;
    EXPECT_EQ(events.notes[0].text, "images live on the GPU; a step is one CUDA graph") << place;
    const RunPaths paths{folder.path() / place};
    const auto again = evaluate_run(paths, recipe, nullptr);
    ASSERT_TRUE(again) << place;
    EXPECT_NEAR(again->loss, events.epochs.back().test_loss, 1e-3 * events.epochs.back().test_loss) << place;
  }
}

// Float32 without dropout is the same training on both, to rounding, as long as rounding has not grown.
TEST(TrainerOnGpu, FirstStepsAreThoseOfTheCpu) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  auto recipe = gpu_recipe();
  recipe.model.dropout = 0;
  recipe.model.bits = 8;  // in two bits a rounding may cross a level
  recipe.train.epochs = 1;
  recipe.optimizer.lr = 1e-4;
  const auto gpu = whole_run(folder.path() / "gpu", recipe);
  recipe.train.device = "cpu";
  const auto cpu = whole_run(folder.path() / "cpu", recipe);
  ASSERT_EQ(gpu.steps.size(), cpu.steps.size());
  EXPECT_NEAR(gpu.steps[0].loss, cpu.steps[0].loss, 1e-5);
  for (std::size_t i = 0; i < 2; ++i) {  // Adam's first updates are signs, so roundings grow fast
    EXPECT_GT(cpu.steps[i].lgi, 0.1) << "step " << i;
    EXPECT_NEAR(gpu.steps[i].lgi, cpu.steps[i].lgi, 5e-3) << "step " << i;
    EXPECT_NEAR(gpu.steps[i].brake, cpu.steps[i].brake, 5e-3) << "step " << i;
  }
  for (std::size_t i = 0; i < gpu.steps.size(); ++i)
    EXPECT_NEAR(gpu.steps[i].loss, cpu.steps[i].loss, 0.02) << "step " << i;
  EXPECT_NEAR(gpu.epochs[0].test_loss, cpu.epochs[0].test_loss, 0.02);
}

TEST(TrainerOnGpu, EveryOptimizerAndPrecisionTrainsAndEvaluatesAgainToTheSame) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  for (const char* optimizer : {"adamw", "sadam", "prox_sgd"})
    for (const char* precision : {"float32", "tf32", "bf16"}) {
      const auto name = std::string(optimizer) + "-" + precision;
      auto recipe = gpu_recipe();
      recipe.optimizer.name = optimizer;
      recipe.train.precision = precision;
      recipe.train.deterministic = true;
      const auto events = whole_run(folder.path() / name, recipe);
      ASSERT_EQ(events.epochs.size(), 3U) << name;
      EXPECT_LT(events.epochs.back().train_loss, events.epochs.front().train_loss) << name;
      for (const auto& step : events.steps) EXPECT_TRUE(std::isfinite(step.loss) && step.lgi >= 0) << name;
      const RunPaths paths{folder.path() / name};
      const auto again = evaluate_run(paths, recipe, nullptr);
      ASSERT_TRUE(again) << name;
      // The same network in the same precision; batches of another size may round in another way.
      EXPECT_NEAR(again->loss, events.epochs.back().test_loss, 1e-3 * events.epochs.back().test_loss) << name;
      auto on_cpu = recipe;
      on_cpu.train.device = "cpu";
      on_cpu.train.precision = "float32";
      const auto elsewhere = evaluate_run(paths, on_cpu, nullptr);
      ASSERT_TRUE(elsewhere) << name;
      EXPECT_NEAR(elsewhere->loss, again->loss, 0.05 * again->loss) << name;
    }
}

// The same first step: the brake is judged in float32 whatever the training is in.
TEST(TrainerOnGpu, ProbesDoNotFeelThePrecisionOfTraining) {
  SADAM_NEEDS_GPU();
  const TemporaryFolder folder;
  auto recipe = gpu_recipe();
  recipe.train.epochs = 1;
  recipe.train.deterministic = true;
  recipe.model.dropout = 0;
  const auto full = whole_run(folder.path() / "float32", recipe);
  for (const char* precision : {"tf32", "bf16"}) {
    recipe.train.precision = precision;
    const auto reduced = whole_run(folder.path() / precision, recipe);
    EXPECT_NE(reduced.steps[0].loss, full.steps[0].loss) << precision;
    EXPECT_NEAR(reduced.steps[0].lgi, full.steps[0].lgi, 1e-3 * full.steps[0].lgi) << precision;
  }
}

TEST(CheckpointOnGpu, AMemoryThatIsTooShortIsNotTakenForAnotherCheckpoint) {
  SADAM_NEEDS_GPU();
  torch::nn::Linear net(4096, 4096);
  net->to(torch::kCUDA);
  Training training(
      {net.ptr(), [&](const TensorBatch& batch) { return net->forward(batch[0]).square().mean(); }, nullptr},
      {}, {});
  training.step({{torch::ones({2, 4096}, torch::kCUDA), torch::zeros({2}, torch::kLong)}}, 1e-3);
  const auto file = make_checkpoint({}, *net, training);
  const sadam::testing::SmallGpu small(40);
  EXPECT_THROW(load_checkpoint(file, *net, training), c10::OutOfMemoryError);
  EXPECT_THROW(load_checkpoint(file, *net), c10::OutOfMemoryError);
}

}  // namespace
}  // namespace sadam::train
