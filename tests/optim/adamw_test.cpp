#include <sadam/adamw.h>

#include <cmath>

#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

torch::nn::Sequential small_net(torch::Dtype type) {
  torch::manual_seed(5);
  torch::nn::Sequential net(torch::nn::Linear(7, 11), torch::nn::ReLU(), torch::nn::Linear(11, 3));
  net->to(type);
  return net;
}

struct Problem {
  explicit Problem(torch::Dtype type) : net(small_net(type)) {
    torch::manual_seed(6);
    inputs = torch::randn({20, 7}, type);
    targets = torch::randint(0, 3, {20}, torch::kLong);
  }
  torch::Tensor loss() { return torch::nn::functional::cross_entropy(net->forward(inputs), targets); }

  torch::nn::Sequential net;
  torch::Tensor inputs;
  torch::Tensor targets;
};

template <class Torchs>
void step_with_torch(Torchs& optimizer, Problem& problem) {
  optimizer.zero_grad();
  problem.loss().backward();
  optimizer.step();
}

double largest_difference(const Problem& a, const Problem& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.net->parameters().size(); ++i)
    largest = std::max(largest, (a.net->parameters()[i] - b.net->parameters()[i]).abs().max().item<double>());
  return largest;
}

TEST(AdamW, FollowsTorchInFloat64) {
  for (double decay : {0.0, 0.1}) {
    Problem ours(torch::kDouble);
    Problem torchs(torch::kDouble);
    AdamW optimizer(*ours.net, AdamWOptions(3e-3).betas({0.8, 0.95}).eps(1e-7).weight_decay(decay));
    torch::optim::AdamW reference(
        torchs.net->parameters(),
        torch::optim::AdamWOptions(3e-3).betas({0.8, 0.95}).eps(1e-7).weight_decay(decay));
    for (int step = 0; step < 100; ++step) {
      optimizer.step([&] { return ours.loss(); });
      step_with_torch(reference, torchs);
      ASSERT_LT(largest_difference(ours, torchs), 1e-12) << "step " << step;
    }
    EXPECT_EQ(100, optimizer.totals().steps);
  }
}

TEST(AdamW, FollowsTorchInFloat32) {
  Problem ours(torch::kFloat);
  Problem torchs(torch::kFloat);
  AdamW optimizer(*ours.net, AdamWOptions(1e-3));
  torch::optim::AdamW reference(torchs.net->parameters(), torch::optim::AdamWOptions(1e-3));
  for (int step = 0; step < 20; ++step) {
    optimizer.step([&] { return ours.loss(); });
    step_with_torch(reference, torchs);
  }
  EXPECT_LT(largest_difference(ours, torchs), 1e-5);
}

TEST(AdamW, TakesAPlainStepAfterTheCallersBackward) {
  Problem with_closure(torch::kFloat);
  Problem without(torch::kFloat);
  AdamW a(*with_closure.net);
  AdamW b(*without.net);
  for (int step = 0; step < 5; ++step) {
    a.step([&] { return with_closure.loss(); });
    b.zero_grad();
    without.loss().backward();
    EXPECT_FALSE(b.step().defined());
    EXPECT_TRUE(std::isnan(b.summary().loss));
  }
  expect_same_bits(with_closure.net->parameters(), without.net->parameters());
}

TEST(AdamW, GroupsHaveTheirOwnOptions) {
  auto a = torch::ones({3}, torch::requires_grad());
  auto b = torch::ones({3}, torch::requires_grad());
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b},
                      std::make_unique<AdamWOptions>(AdamWOptions(0.5).weight_decay(0)));
  AdamW optimizer(groups, AdamWOptions(0.25).weight_decay(0));
  optimizer.step([&] { return a.sum() + b.sum(); });
  EXPECT_NEAR(0.75, a[0].item<double>(), 1e-6);
  EXPECT_NEAR(0.5, b[0].item<double>(), 1e-6);
}

TEST(AdamW, StepLRWorks) {
  auto w = torch::ones({1}, torch::requires_grad());
  AdamW optimizer({w}, AdamWOptions(1).weight_decay(0));
  torch::optim::StepLR schedule(optimizer, 1, 0.5);
  optimizer.step([&] { return w.sum(); });
  EXPECT_NEAR(0, w.item<double>(), 1e-6);
  schedule.step();  // torch's first call changes nothing
  schedule.step();
  optimizer.step([&] { return w.sum(); });
  EXPECT_NEAR(-0.5, w.item<double>(), 1e-6);
}

TEST(AdamW, AnyMemoryLayoutFollowsTheSameTrajectory) {
  const auto start = torch::randn({4, 3, 5, 5});
  const auto target = torch::randn({4, 3, 5, 5});
  const auto trained = [&](torch::Tensor w) {
    w.set_requires_grad(true);
    AdamW optimizer({w}, AdamWOptions(0.01));
    for (int step = 0; step < 4; ++step) optimizer.step([&] { return (w - target).pow(2).sum(); });
    return w.detach();
  };
  const auto plain = trained(start.clone());
  expect_same_bits({plain}, {trained(start.clone().contiguous(torch::MemoryFormat::ChannelsLast))});
  auto wide = torch::zeros({4, 3, 5, 10});
  auto with_gaps = wide.slice(3, 0, 10, 2);
  with_gaps.copy_(start);
  expect_same_bits({plain}, {trained(with_gaps)});
  EXPECT_EQ(0, wide.slice(3, 1, 10, 2).abs().max().item<double>()) << "the gaps were written";
}

TEST(AdamW, FrozenParametersAndMissingGradientsStay) {
  auto trained = torch::ones({2}, torch::requires_grad());
  auto frozen = torch::ones({2});
  auto unused = torch::ones({2}, torch::requires_grad());
  AdamW optimizer({trained, frozen, unused});
  optimizer.step([&] { return (trained * frozen).sum(); });
  EXPECT_FALSE(torch::equal(trained, torch::ones({2})));
  EXPECT_TRUE(torch::equal(frozen, torch::ones({2})));
  EXPECT_TRUE(torch::equal(unused, torch::ones({2})));
}

TEST(AdamW, ATensorChangedInPlaceIsNoticedByAutograd) {
  auto w = torch::ones({2}, torch::requires_grad());
  AdamW optimizer({w});
  auto stale = (w * w).sum();
  optimizer.step([&] { return w.sum(); });
  EXPECT_ANY_THROW(stale.backward());
}

TEST(AdamW, SkipsANonFiniteLossOrGradient) {
  auto w = torch::ones({3}, torch::requires_grad());
  AdamW optimizer({w});
  optimizer.step([&] { return (w * w).sum(); });
  const auto before = w.detach().clone();
  optimizer.step([&] { return w.sum() * std::nan(""); });
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(1, optimizer.summary().non_finite_loss);
  EXPECT_EQ(3, optimizer.summary().non_finite_gradient);
  w.mutable_grad() = torch::tensor({1.0f, HUGE_VALF, -HUGE_VALF});
  optimizer.step();
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(2, optimizer.summary().non_finite_gradient);
  expect_same_bits({before}, {w});
  EXPECT_EQ(1, optimizer.totals().steps);
  EXPECT_EQ(2, optimizer.totals().skipped);
}

// The authors' rule, where final_lr is 0.1 for lr = 1e-3: it follows a schedule as lr does.
TEST(AdamW, WithItsPresetIsAdaBound) {
  Problem ours(torch::kDouble);
  Problem plain(torch::kDouble);
  const double first_lr = 2e-3;
  const double final_lr = 0.15;
  const double gamma = 0.02;
  const double eps = 1e-8;
  const double weight_decay = 0.05;
  AdamW optimizer(*ours.net, AdamWOptions::adabound(first_lr, final_lr)
                                 .betas({0.9, 0.99})
                                 .weight_decay(weight_decay)
                                 .bound_gamma(gamma));
  std::vector<torch::Tensor> m;
  std::vector<torch::Tensor> v;
  for (const auto& w : plain.net->parameters())
    m.push_back(torch::zeros_like(w)), v.push_back(m.back().clone());
  std::int64_t lifted = 0;
  std::int64_t cut = 0;
  for (int t = 1; t <= 80; ++t) {
    const double lr = t <= 40 ? first_lr : first_lr / 3;
    optimizer.param_groups()[0].options().set_lr(lr);
    optimizer.step([&] { return ours.loss(); });

    const auto gradients = torch::autograd::grad({plain.loss()}, plain.net->parameters());
    const torch::NoGradGuard no_grad;
    const double scaled = final_lr * lr / first_lr;
    const double lower = scaled * (1 - 1 / (gamma * t + 1));
    const double upper = scaled * (1 + 1 / (gamma * t));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * gradients[i];
      v[i] = 0.99 * v[i] + 0.01 * gradients[i].square();
      const auto corrected = (v[i] / (1 - std::pow(0.99, t))).sqrt() + eps;
      const auto size = lr / (1 - std::pow(0.9, t)) / corrected;
      lifted += size.lt(lower).sum().item<std::int64_t>();
      cut += size.gt(upper).sum().item<std::int64_t>();
      auto w = plain.net->parameters()[i];
      w.mul_(1 - lr * weight_decay).sub_(size.clamp(lower, upper) * m[i]);
    }
    ASSERT_LT(largest_difference(ours, plain), 1e-12) << "step " << t;
  }
  EXPECT_GT(lifted, 100) << "the lower bound was never felt";
  EXPECT_GT(cut, 100) << "the upper bound was never felt";
  EXPECT_DOUBLE_EQ(AdamWOptions::adabound().final_ratio(), 100);
  for (const double lr : {0.0, -1e-3}) EXPECT_THROW(AdamWOptions::adabound(lr), Error);
}

TEST(ProxSGD, WithoutAPenaltyIsTorchsSgdWithMomentum) {
  Problem ours(torch::kDouble);
  Problem torchs(torch::kDouble);
  ProxSGD optimizer(*ours.net, ProxSGDOptions(0.05).momentum(0.9).l1(0));
  torch::optim::SGD reference(torchs.net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < 100; ++step) {
    optimizer.step([&] { return ours.loss(); });
    step_with_torch(reference, torchs);
    ASSERT_LT(largest_difference(ours, torchs), 1e-12) << "step " << step;
  }
}

TEST(ProxSGD, SmallWeightsBecomeExactlyZero) {
  auto w = torch::tensor({0.5f, 0.004f, -0.004f, -0.5f}).set_requires_grad(true);
  ProxSGD optimizer({w}, ProxSGDOptions(0.1).l1(0.05));
  optimizer.step([&] { return 0 * w.sum(); });
  EXPECT_TRUE(torch::allclose(w, torch::tensor({0.495f, 0.0f, 0.0f, -0.495f})));
  EXPECT_EQ(0, w[1].item<float>());
}

TEST(ProxSGD, GroupsHaveTheirOwnOptions) {
  auto a = torch::ones({3}, torch::requires_grad());
  auto b = torch::ones({3}, torch::requires_grad());
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b},
                      std::make_unique<ProxSGDOptions>(ProxSGDOptions(0.25).l1(1)));
  ProxSGD optimizer(groups, ProxSGDOptions(0.5).momentum(0.5).l1(0));
  for (int step = 0; step < 2; ++step) optimizer.step([&] { return a.sum() + 2 * b.sum(); });
  EXPECT_NEAR(1 - 0.5 * (1 + 1.5), a[0].item<double>(), 1e-6);
  // b: 1 − 0.25·2 = 0.5, threshold 0.25 → 0.25; then 0.25 − 0.25·3.8 = −0.7 → −0.45.
  EXPECT_NEAR(-0.45, b[0].item<double>(), 1e-6);
}

}  // namespace
}  // namespace sadam
