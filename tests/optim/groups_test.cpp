#include <sadam/s_adam.h>

#include <cmath>

#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

TEST(SAdam, GroupsHaveTheirOwnRateDampingAndBrake) {
  auto a = torch::ones({200}, torch::kDouble).set_requires_grad(true);
  auto b = torch::ones({200}, torch::kDouble).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b},
                      std::make_unique<SAdamOptions>(
                          SAdamOptions(0.5).weight_decay(0).eps(0).damping(4).brake(Brake::proximal)));
  SAdam optimizer(groups, SAdamOptions(0.25).weight_decay(0).eps(0).probes(4));
  optimizer.step([&] { return a.sum() + 2 * b.sum(); });
  const auto& summary = optimizer.summary();
  EXPECT_EQ(4u, summary.differences.size()) << "a group that says nothing of probes follows the optimizer";
  EXPECT_EQ(summary.group_lgi[0], summary.group_lgi[1]) << "one ρ for all";
  EXPECT_NEAR(1 - 0.25 * std::exp(-2 * summary.lgi), a[0].item<double>(), 1e-12);
  EXPECT_NEAR(1 - 0.5 / (1 + 4 * summary.lgi), b[0].item<double>(), 1e-12);
}

TEST(SAdam, ReferenceProbesGroupAfterGroup) {
  auto a = torch::ones({30}, torch::kDouble).set_requires_grad(true);
  auto b = torch::ones({30}, torch::kDouble).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b});
  SAdam optimizer(groups, SAdamOptions::reference(0.1));
  std::vector<std::pair<bool, bool>> moved;  // of a and b, at each evaluation
  for (int i = 0; i < 2; ++i) {              // the first step is looked at more closely
    moved.clear();
    const auto a0 = a.detach().clone();
    const auto b0 = b.detach().clone();
    optimizer.step([&] {
      moved.emplace_back(!torch::equal(a, a0), !torch::equal(b, b0));
      return a.abs().sum() + (b * b).sum();
    });
  }
  using Pair = std::pair<bool, bool>;
  ASSERT_EQ(5u, moved.size());
  EXPECT_EQ(Pair(false, false), moved[0]);
  EXPECT_EQ(Pair(true, false), moved[1]);
  EXPECT_EQ(Pair(true, false), moved[2]);
  EXPECT_EQ(Pair(true, true), moved[3]) << "a has been updated, b is probed";
  EXPECT_EQ(Pair(true, true), moved[4]);
  EXPECT_NE(optimizer.summary().group_lgi[0], optimizer.summary().group_lgi[1]);
  EXPECT_EQ(4u, optimizer.summary().differences.size()) << "those of both groups, in order";
}

TEST(SAdam, FrozenParametersAreNeitherProbedNorStepped) {
  auto trained_one = torch::randn({10}).set_requires_grad(true);
  auto frozen = torch::randn({10});
  const auto before = frozen.clone();
  SAdam optimizer({trained_one, frozen});
  optimizer.step([&] {
    expect_same_bits({before}, {frozen});
    return (trained_one * frozen).sum();
  });
  expect_same_bits({before}, {frozen});
}

struct TiedImpl : torch::nn::Module {
  TiedImpl() {
    weight = register_parameter("weight", torch::ones({5}));
    register_parameter("same_weight", weight);
  }
  torch::Tensor weight;
};

TEST(SAdam, TiedWeightsCountOnce) {
  TiedImpl net;
  ASSERT_EQ(2u, net.parameters().size());
  SAdam optimizer(net, SAdamOptions(0.5).weight_decay(0));
  EXPECT_EQ(1u, optimizer.param_groups()[0].params().size());
  optimizer.step([&] { return net.weight.sum(); });
  EXPECT_NEAR(1 - 0.5 * optimizer.summary().brake, net.weight[0].item<double>(), 1e-6) << "one step, not two";
}

}  // namespace
}  // namespace sadam
