// Memory that runs out. Torch is told that it may have little of it.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <utility>

#include "optim/cuda/support.h"
#include "support/small_gpu.h"

namespace sadam::optim::cuda_test {
namespace {

using sadam::testing::emptied;
using sadam::testing::kMiB;
using sadam::testing::SmallGpu;

/// While it lives, torch has `mib` more than it holds now.
class ShortMemory {
 public:
  explicit ShortMemory(double mib) {
    const auto total = emptied().second;
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
    const auto held = static_cast<double>(stats.reserved_bytes[0].current);
    set((held + mib * kMiB) / static_cast<double>(total));
  }
  ~ShortMemory() {
    set(1);
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

 private:
  static void set(double fraction) { c10::cuda::CUDACachingAllocator::setMemoryFraction(fraction, 0); }
};

// 64 MiB of weights; as much again for gradients, moments and each copy.
struct WideImpl : torch::nn::Cloneable<WideImpl> {
  WideImpl() { reset(); }
  void reset() override { fc = register_module("fc", torch::nn::Linear(4096, 4096)); }
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Wide);

torch::Tensor wide_loss(WideImpl& net, const Batch& batch) {
  return net.fc->forward(batch[0]).square().mean();
}

Batch wide_batch(std::int64_t size) { return {torch::ones({size, 4096}, torch::kCUDA)}; }

/// Three steps with `mib` to spare.
struct Outcome {
  bool captured = false;
  std::int64_t streams = 0;
  std::vector<torch::Tensor> weights;
};

Outcome steps_within(std::optional<double> mib) {
  const Deterministic deterministic;
  torch::manual_seed(1);
  Wide net;
  net->to(torch::kCUDA);
  SAdam optimizer(*net, SAdamOptions(1e-3).probes(8));
  GraphedStep step(net, optimizer, wide_loss);
  const auto batch = wide_batch(4);
  static_cast<void>(wide_loss(*net, batch).item<double>());  // cuBLAS takes its workspace
  std::optional<ShortMemory> scope;
  if (mib) scope.emplace(*mib);
  for (int i = 0; i < 3; ++i) step(batch);
  EXPECT_EQ(optimizer.totals().steps, 3);
  return {step.is_captured(), step.streams(), {net->fc->weight.detach().cpu(), net->fc->bias.detach().cpu()}};
}

TEST(ShortMemory, ProbesAreOnOneStreamWhereCopiesDoNotFit) {
  SADAM_NEEDS_GPU();
  const auto ample = steps_within(std::nullopt);
  EXPECT_TRUE(ample.captured);
  EXPECT_EQ(ample.streams, 8);
  bool in_place = false;
  for (const double mib : {600.0, 480.0, 400.0, 340.0}) {
    const auto outcome = steps_within(mib);
    EXPECT_LT(outcome.streams, 8) << mib;
    in_place = in_place || (outcome.captured && outcome.streams == 0);
    EXPECT_TRUE(equal(ample.weights, outcome.weights)) << "with " << mib << " MiB";
  }
  EXPECT_TRUE(in_place);
  for (const double mib :
       {1000.0, 800.0, 770.0, 740.0, 710.0, 700.0}) {  // where copies may fit and the rehearsal may not
    const auto outcome = steps_within(mib);
    EXPECT_TRUE(outcome.captured) << mib;
    EXPECT_TRUE(equal(ample.weights, outcome.weights)) << "with " << mib << " MiB";
  }
}

// By default copies take at most a quarter of what is free: of 1400 MiB, less gradients, moments and what
// the batch needs, four or five times 64 MiB.
TEST(ShortMemory, OnASmallGpuThereAreFewerStreams) {
  SADAM_NEEDS_GPU();
  const auto ample = steps_within(std::nullopt);
  const SmallGpu small(1400);
  const auto outcome = steps_within(std::nullopt);
  EXPECT_TRUE(outcome.captured);
  EXPECT_GE(outcome.streams, 2);
  EXPECT_LE(outcome.streams, 5);
  EXPECT_TRUE(equal(ample.weights, outcome.weights));
}

// What a graph for another shape holds is given up for the one that is needed.
TEST(ShortMemory, AGraphForAnotherShapeGivesWay) {
  SADAM_NEEDS_GPU();
  torch::manual_seed(1);
  Wide net;
  net->to(torch::kCUDA);
  AdamW optimizer(*net, AdamWOptions(1e-3));
  GraphedStep step(net, optimizer, wide_loss);
  const auto large = wide_batch(8192);  // 128 MiB, and as much for each intermediate result
  const auto larger = wide_batch(9000);
  step(large);
  ASSERT_TRUE(step.is_captured()) << step.why_not();
  const ShortMemory scope(300);
  EXPECT_NO_THROW(step(larger));
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_NO_THROW(step(large));
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(optimizer.totals().steps, 3);
}

TEST(ShortMemory, AStepThatDoesNotFitAtAllSaysSoAndTheNextOneWorks) {
  SADAM_NEEDS_GPU();
  torch::manual_seed(1);
  Wide net;
  net->to(torch::kCUDA);
  SAdam optimizer(*net, SAdamOptions(1e-3).probes(2));
  GraphedStep step(net, optimizer, wide_loss);
  const auto batch = wide_batch(4);
  step(batch);
  const auto before = net->fc->weight.detach().clone();
  {
    const auto large = wide_batch(8192);
    const ShortMemory scope(150);
    EXPECT_TRUE(says(refusal([&] { step(large); }), "memory is used up"));
  }
  EXPECT_TRUE(torch::equal(before, net->fc->weight));
  step(batch);
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(optimizer.totals().steps, 2);
  EXPECT_FALSE(torch::equal(before, net->fc->weight));
}

// CUDA and its libraries allocate too, and throw what says so in words only.
TEST(ShortMemory, MemoryThatIsShortOutsideTorchIsTreatedAlike) {
  SADAM_NEEDS_GPU();
  for (const std::string words : {"CUDA error: out of memory\nand more", "CUBLAS_STATUS_ALLOC_FAILED"}) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    bool beside_only = true;
    c10::optional<c10::cuda::CUDAStream> of_base;
    GraphedStep step(net, optimizer, [&](const Batch& batch) {
      const auto stream = c10::cuda::getCurrentCUDAStream();
      if (torch::GradMode::is_enabled()) of_base = stream;
      if (!beside_only || stream != *of_base) throw std::runtime_error(words);
      return loss_of(*net, batch);
    });
    ::testing::internal::CaptureStderr();
    step(make_batch(0));
    EXPECT_EQ(::testing::internal::GetCapturedStderr().find("sadam:"), std::string::npos)
        << "nothing is wrong with the module";
    EXPECT_TRUE(step.is_captured()) << step.why_not();
    EXPECT_EQ(step.streams(), 0);
    const auto before = state_of(*net);
    beside_only = false;
    EXPECT_TRUE(says(refusal([&] { step(make_batch(1, 5)); }), "memory is used up"));
    EXPECT_TRUE(equal(state_of(*net), before));
  }
}

// The warm-up fits and the graph does not: when side-by-side probes have been given up, so is the graph.
TEST(ShortMemory, AStepWhoseGraphDoesNotFitIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  expect_eager_steps_with("too short for a graph", [](SmallNetImpl& module, const Batch& batch) {
    if (c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None)
      torch::empty({std::int64_t{1} << 44}, torch::kCUDA);
    return loss_of(module, batch);
  });
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0));
  EXPECT_TRUE(step.is_captured()) << "another, afterwards: " << step.why_not();
  EXPECT_EQ(step.streams(), 3);
}

// Rehearsals write too, and may not leave a trace, however little room there is to keep the weights.
TEST(ShortMemory, WhatALossWritesIsPutBackWhereNoCopyFits) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  const auto weights_after = [](std::optional<double> mib) {
    torch::manual_seed(1);
    Wide net;
    net->to(torch::kCUDA);
    AdamW optimizer(*net, AdamWOptions(1e-3));
    GraphedStep step(net, optimizer, [&](const Batch& batch) {
      {
        const torch::NoGradGuard no_grad;
        net->fc->weight.mul_(0.5);
      }
      return wide_loss(*net, batch);
    });
    const auto batch = wide_batch(4);
    static_cast<void>(wide_loss(*net, batch).item<double>());
    std::optional<ShortMemory> scope;
    if (mib) scope.emplace(*mib);
    for (int i = 0; i < 3; ++i) step(batch);
    return std::vector<torch::Tensor>{net->fc->weight.detach().cpu()};
  };
  const auto ample = weights_after(std::nullopt);
  for (const double mib : {330.0, 280.0, 230.0}) EXPECT_TRUE(equal(ample, weights_after(mib))) << mib;
}

// A closure that fails in a probe, when the weights are moved.
TEST(ShortMemory, AnEagerStepThatFailsInAProbePutsTheWeightsBack) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
  const auto batch = make_batch(0);
  int calls = 0;
  int failing = 0;
  const auto closure = [&] {
    if (++calls == failing) torch::empty({std::int64_t{1} << 44}, torch::kCUDA);
    return loss_of(*net, batch);
  };
  optimizer.step(closure);  // which is looked at more closely
  calls = 0;
  optimizer.step(closure);
  const int evaluations = std::exchange(calls, 0);
  ASSERT_GE(evaluations, 4);
  const auto weights = [&] {
    std::vector<torch::Tensor> all;
    for (const auto& parameter : net->parameters()) all.push_back(parameter.detach().clone());
    return all;
  };
  const auto before = weights();
  for (failing = 1; failing <= evaluations; ++failing) {
    calls = 0;
    EXPECT_THROW(optimizer.step(closure), c10::OutOfMemoryError) << failing;
    EXPECT_TRUE(equal(before, weights())) << failing;
  }
  calls = 0;
  optimizer.step(closure);
  EXPECT_EQ(optimizer.totals().steps, 3);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
