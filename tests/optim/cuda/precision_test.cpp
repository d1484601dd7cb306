#include "nn/resnet18.h"
#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

torch::Tensor resnet_loss(nn::ResNet18Impl& net, const Batch& batch) {
  return torch::nn::functional::cross_entropy(net.forward(batch[0]).to(torch::kDouble), batch[1]);
}

Batch resnet_batch() {
  torch::manual_seed(3);
  return {torch::randn({8, 3, 64, 64}).to(torch::kCUDA), torch::randint(100, {8}).to(torch::kCUDA)};
}

// ρ's differences of ResNet-18 at δ = 0.01 on the global sphere, with the loss evaluated by hand at the
// probes' weights: what a probe that left TF32 on would see.
std::vector<double> differences(bool tf32, bool through_the_optimizer) {
  torch::manual_seed(2);
  nn::ResNet18 net(nn::ResNet18Options{100});
  net->to(torch::kCUDA);
  net->eval();
  const auto batch = resnet_batch();
  at::globalContext().setAllowTF32CuDNN(tf32);
  at::globalContext().setAllowTF32CuBLAS(tf32);
  SAdam optimizer(*net, SAdamOptions(0).weight_decay(0).probes(4).radius(0.01));
  std::vector<double> seen;
  if (through_the_optimizer) {
    optimizer.step([&] { return resnet_loss(*net, batch); });
    seen = optimizer.summary().differences;
  } else {
    // The closure switches TF32 on itself, inside the probes.
    optimizer.step([&] {
      at::globalContext().setAllowTF32CuDNN(tf32);
      at::globalContext().setAllowTF32CuBLAS(tf32);
      return resnet_loss(*net, batch);
    });
    seen = optimizer.summary().differences;
  }
  at::globalContext().setAllowTF32CuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(false);
  return seen;
}

TEST(CudaPrecision, LgiInTf32DiffersFromLgiInFloat32) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  const auto in_float32 = differences(false, false);
  EXPECT_EQ(in_float32, differences(false, false));  // what differs below is not chance
  const auto exact = lgi(Statistic::variance, in_float32, {}, 1e-6);
  const auto reduced = lgi(Statistic::variance, differences(true, false), {}, 1e-6);
  RecordProperty("rho_float32", std::to_string(exact));
  RecordProperty("rho_tf32", std::to_string(reduced));
  std::cout << "rho in float32 " << exact << ", in TF32 " << reduced << '\n';
  EXPECT_GT(std::abs(exact - reduced), 1e-3);
}

TEST(CudaPrecision, ProbesAreInFloat32WhateverTrainingIsIn) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  EXPECT_EQ(differences(true, true), differences(false, true));
}

TEST(CudaPrecision, TheUsersSettingsStandAfterAStep) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-3));
  const auto batch = make_batch(0);
  at::globalContext().setAllowTF32CuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(true);
  optimizer.step([&] { return loss_of(*net, batch); });
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  at::globalContext().setAllowTF32CuBLAS(false);
}

TEST(CudaPrecision, GraphsInTf32ProbeInFloat32) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  std::vector<double> seen[2];
  for (const bool captured : {false, true}) {
    torch::manual_seed(2);
    nn::ResNet18 net(nn::ResNet18Options{100});
    net->to(torch::kCUDA);
    at::globalContext().setAllowTF32CuDNN(true);
    at::globalContext().setAllowTF32CuBLAS(true);
    SAdam optimizer(*net, SAdamOptions(1e-3).probes(2));
    GraphedStep step(net, optimizer, resnet_loss, GraphOptions().capture(captured));
    const auto batch = resnet_batch();
    for (int i = 0; i < 3; ++i) step(batch);
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    seen[captured] = optimizer.summary().differences;
  }
  at::globalContext().setAllowTF32CuBLAS(false);
  EXPECT_EQ(seen[0], seen[1]);
}

// Where torch may choose algorithms that depend on timing, no two runs are the same: a captured one is as
// close to an eager one as that is to another.
TEST(CudaPrecision, WithoutDeterminismGraphsAreNoFurtherFromEagerThanEagerFromItself) {
  SADAM_NEEDS_GPU();
  const auto run = [](bool captured) {
    torch::manual_seed(2);
    nn::ResNet18 net(nn::ResNet18Options{100});
    net->to(torch::kCUDA);
    SAdam optimizer(*net, SAdamOptions(1e-3).probes(2));
    GraphedStep step(net, optimizer, resnet_loss, GraphOptions().capture(captured));
    const auto batch = resnet_batch();
    for (int i = 0; i < 3; ++i) step(batch);
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    std::vector<torch::Tensor> flat;
    for (const auto& parameter : net->parameters()) flat.push_back(parameter.detach().flatten());
    return torch::cat(flat).to(torch::kDouble);
  };
  const auto distance = [](const torch::Tensor& a, const torch::Tensor& b) {
    return ((a - b).norm() / a.norm()).item<double>();
  };
  constexpr std::size_t kRuns = 6;
  std::vector<torch::Tensor> eager;
  std::vector<torch::Tensor> captured;
  for (std::size_t i = 0; i < kRuns; ++i) {
    eager.push_back(run(false));
    captured.push_back(run(true));
  }
  double among_eager = 0;  // means over all pairs
  double to_eager = 0;
  for (std::size_t i = 0; i < kRuns; ++i)
    for (std::size_t j = 0; j < kRuns; ++j) {
      if (i != j) among_eager += distance(eager[i], eager[j]) / (kRuns * (kRuns - 1));
      to_eager += distance(captured[i], eager[j]) / (kRuns * kRuns);
    }
  std::cout << "relative distance among eager runs " << among_eager << ", of captured from eager runs "
            << to_eager << '\n';
  EXPECT_LE(to_eager, 1.6 * among_eager);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
