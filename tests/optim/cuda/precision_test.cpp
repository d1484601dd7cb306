#include <algorithm>
#include <numeric>
#include <random>

#include "nn/qat_net.h"
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
  const Tf32 scope(tf32);
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

// Two devices round differently, which is far less than what TF32 does above.
TEST(CudaPrecision, LgiOfNetworksIsThatOfTheCpu) {
  SADAM_NEEDS_GPU();
  const auto compare = [](const char* name, const auto& make, std::int64_t pixels) {
    torch::manual_seed(3);
    const Batch batch = {torch::randn({8, 3, pixels, pixels}), torch::randint(100, {8})};
    const auto seen = [&](torch::Device device, bool captured) {
      torch::manual_seed(2);
      auto net = make();
      net->to(device);
      const Tf32 scope(false);
      SAdam optimizer(*net, SAdamOptions(0).weight_decay(0).probes(4));
      const auto loss = [](auto& module, const Batch& b) {
        return torch::nn::functional::cross_entropy(module.forward(b[0]).to(torch::kDouble), b[1]);
      };
      GraphedStep step(net, optimizer, loss, GraphOptions().capture(captured));
      step({batch[0].to(device), batch[1].to(device)});
      EXPECT_EQ(step.is_captured(), captured) << step.why_not();
      return optimizer.summary().lgi;
    };
    const double cpu = seen(torch::kCPU, false);
    for (const bool captured : {false, true}) {
      const double gpu = seen(torch::kCUDA, captured);
      std::cout << "rho of " << name << " on the CPU " << cpu << ", on the GPU " << gpu << '\n';
      EXPECT_NEAR(gpu, cpu, 0.02 * cpu) << name;
    }
    EXPECT_GT(cpu, 0.05) << name;
  };
  compare(
      "ResNet-18", [] { return nn::ResNet18(nn::ResNet18Options{100}); }, 64);
  compare(
      "QATNet", [] { return nn::QATNet(nn::QATNetOptions{.dropout = 0}); }, 32);
}

TEST(CudaPrecision, TheUsersSettingsStandAfterAStep) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-3));
  const auto batch = make_batch(0);
  const Tf32 scope(true);
  optimizer.step([&] { return loss_of(*net, batch); });
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
}

TEST(CudaPrecision, GraphsInTf32ProbeInFloat32) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  const auto seen = [](bool tf32, bool captured, double lr) {
    torch::manual_seed(2);
    nn::ResNet18 net(nn::ResNet18Options{100});
    net->to(torch::kCUDA);
    const Tf32 scope(tf32);
    SAdam optimizer(*net, SAdamOptions(lr).weight_decay(0).probes(2));
    GraphedStep step(net, optimizer, resnet_loss, GraphOptions().capture(captured));
    const auto batch = resnet_batch();
    for (int i = 0; i < 3; ++i) step(batch);
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    return optimizer.summary().differences;
  };
  for (const bool tf32 : {true, false}) EXPECT_EQ(seen(tf32, true, 1e-3), seen(tf32, false, 1e-3)) << tf32;
  // Where the weights stay, nothing is left of TF32.
  EXPECT_EQ(seen(true, true, 0), seen(false, false, 0));
}

/// Relative distances between the weights of runs, each with each.
std::vector<std::vector<double>> distances_of(const std::vector<torch::Tensor>& runs) {
  std::vector<std::vector<double>> distances(runs.size(), std::vector<double>(runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      distances[i][j] = distances[j][i] = ((runs[i] - runs[j]).norm() / runs[i].norm()).item<double>();
  return distances;
}

struct MeanDistances {
  double within = 0;   ///< of the first half from itself
  double between = 0;  ///< of the second half from the first
};

MeanDistances mean_distances(const std::vector<std::vector<double>>& distances,
                             const std::vector<std::size_t>& order) {
  const auto half = order.size() / 2;
  MeanDistances means;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t j = 0; j < half; ++j) {
      const auto pairs = static_cast<double>(half);
      if (i != j) means.within += distances[order[i]][order[j]] / (pairs * (pairs - 1));
      means.between += distances[order[i]][order[half + j]] / (pairs * pairs);
    }
  return means;
}

/// How often runs dealt out at random are as far apart as the second half is from the first: a permutation
/// test.
double chance_of(const std::vector<torch::Tensor>& runs, const std::string& name) {
  const auto distances = distances_of(runs);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto found = mean_distances(distances, order);
  std::mt19937 random(1);
  constexpr int kDeals = 2000;
  int as_far = 0;
  for (int i = 0; i < kDeals; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    const auto dealt = mean_distances(distances, order);
    if (dealt.between - dealt.within >= found.between - found.within) ++as_far;
  }
  const double chance = (as_far + 1.0) / (kDeals + 1.0);
  std::cout << "relative distance among eager runs " << found.within << ", of " << name << " from them "
            << found.between << ", by chance with probability " << chance << '\n';
  return chance;
}

// Where torch may choose algorithms that depend on timing, no two runs are the same: captured ones are as
// close to eager ones as those are to each other.
TEST(CudaPrecision, WithoutDeterminismGraphsAreNoFurtherFromEagerThanEagerFromItself) {
  SADAM_NEEDS_GPU();
  const auto run = [](bool captured, double lr) {
    torch::manual_seed(2);
    nn::ResNet18 net(nn::ResNet18Options{100});
    net->to(torch::kCUDA);
    SAdam optimizer(*net, SAdamOptions(lr).probes(2));
    GraphedStep step(net, optimizer, resnet_loss, GraphOptions().capture(captured));
    const auto batch = resnet_batch();
    for (int i = 0; i < 3; ++i) step(batch);
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    std::vector<torch::Tensor> flat;
    for (const auto& parameter : net->parameters()) flat.push_back(parameter.detach().flatten());
    return torch::cat(flat).to(torch::kDouble);
  };
  std::vector<torch::Tensor> captured;
  std::vector<torch::Tensor> others;
  for (int i = 0; i < 10; ++i) {
    captured.push_back(run(false, 1e-3));
    others.push_back(captured.back());
  }
  for (int i = 0; i < 10; ++i) {
    captured.push_back(run(true, 1e-3));
    others.push_back(run(false, 1.3e-3));
  }
  EXPECT_GT(chance_of(captured, "captured ones"), 0.001);
  EXPECT_LT(chance_of(others, "those with a larger learning rate"), 0.001);  // it does see differences
}

}  // namespace
}  // namespace sadam::optim::cuda_test
