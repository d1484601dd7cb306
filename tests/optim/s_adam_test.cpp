#include <sadam/s_adam.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

// Trains a fresh copy of the same network for a few steps and returns its parameters.
template <class Make>
std::vector<torch::Tensor> trained(Make&& make, int steps = 6) {
  torch::manual_seed(3);
  NoisyNet net;
  const Batch batch;
  auto optimizer = make(*net);
  for (int step = 0; step < steps; ++step) optimizer.step([&] { return loss_of(net, batch); });
  auto result = copies(net->parameters());
  for (const auto& buffer : copies(net->buffers())) result.push_back(buffer);
  result.push_back(generator_state());
  return result;
}

TEST(SAdam, WithoutDampingIsAdamWBitForBit) {
  const auto expected = trained([](torch::nn::Module& net) { return AdamW(net, AdamWOptions(0.01)); });
  expect_same_bits(expected,
                   trained([](torch::nn::Module& net) { return SAdam(net, SAdamOptions(0.01).damping(0)); }));
  expect_same_bits(expected, trained([](torch::nn::Module& net) {
                     return SAdam(net, SAdamOptions(0.01).damping(0).monitor(true).probes(3));
                   }));
  expect_same_bits(expected, trained([](torch::nn::Module& net) {
                     return SAdam(net, SAdamOptions(0.01)
                                           .damping(0)
                                           .monitor(true)
                                           .directions(Directions::step)
                                           .statistic(Statistic::residual)
                                           .brake(Brake::held)
                                           .ceiling(0.5));
                   }));
}

TEST(SAdam, WithOneProbeAndAVarianceIsAdamWBitForBit) {
  const auto expected = trained([](torch::nn::Module& net) { return AdamW(net, AdamWOptions(0.01)); });
  for (auto statistic : {Statistic::variance, Statistic::unbiased_variance})
    expect_same_bits(expected, trained([&](torch::nn::Module& net) {
                       return SAdam(net, SAdamOptions(0.01).probes(1).statistic(statistic));
                     }));
}

TEST(SAdam, WithTheBrakeIsNotAdamW) {
  const auto expected = trained([](torch::nn::Module& net) { return AdamW(net, AdamWOptions(0.01)); });
  const auto braked = trained([](torch::nn::Module& net) { return SAdam(net, SAdamOptions(0.01)); });
  EXPECT_FALSE(torch::equal(expected[0], braked[0]));
}

TEST(SAdam, BrakesTheStepAndNotTheDecay) {
  // f is linear, so the first Adam step is lr·sign(g) and ρ comes from the recorded summary alone.
  for (bool damped : {false, true}) {
    auto w = torch::full({400}, 2.0, torch::kDouble).set_requires_grad(true);
    SAdam optimizer({w}, SAdamOptions(0.1).weight_decay(0.5).eps(0).damp_weight_decay(damped));
    optimizer.step([&] { return w.sum(); });
    const auto& summary = optimizer.summary();
    ASSERT_GT(summary.lgi, 0);
    EXPECT_DOUBLE_EQ(std::exp(-2 * summary.lgi), summary.brake);
    const double decay = 0.1 * 0.5 * (damped ? summary.brake : 1);
    EXPECT_NEAR(2.0 * (1 - decay) - 0.1 * summary.brake, w[0].item<double>(), 1e-12);
    EXPECT_EQ(0.1, optimizer.param_groups()[0].options().get_lr());
  }
}

TEST(SAdam, ThreeFormsOfBiasCorrection) {
  // One step from zero moments with gradient g: m = 0.1g, v = 0.001g².
  const double g = 3;
  const double eps = 0.5;
  const auto first_step = [&](BiasCorrection correction) {
    auto w = torch::zeros({1}, torch::kDouble).set_requires_grad(true);
    SAdam optimizer({w}, SAdamOptions(1).damping(0).eps(eps).bias_correction(correction));
    optimizer.step([&] { return g * w.sum(); });
    return -w.item<double>();
  };
  EXPECT_NEAR(g / (g + eps), first_step(BiasCorrection::adamw), 1e-12);
  EXPECT_NEAR(std::sqrt(0.001) / 0.1 * 0.1 * g / (std::sqrt(0.001) * g + eps),
              first_step(BiasCorrection::reference), 1e-12);
  EXPECT_NEAR(0.1 * g / (std::sqrt(0.001) * g + eps), first_step(BiasCorrection::none), 1e-12);
}

TEST(SAdam, PresetsAreWhatTheirSourcesSay) {
  const auto paper = SAdamOptions::paper();
  EXPECT_EQ(1e-3, paper.lr());
  EXPECT_EQ(2, paper.probes());
  EXPECT_EQ(0.01, paper.radius());
  EXPECT_EQ(2.0, paper.damping());
  EXPECT_EQ(0.01, paper.weight_decay());
  EXPECT_EQ(1e-8, paper.eps());
  EXPECT_EQ(1e-6, paper.lgi_eps());
  EXPECT_EQ(10, paper.cap());
  EXPECT_FALSE(paper.damp_weight_decay());
  EXPECT_EQ(Directions::sphere, paper.directions());
  EXPECT_EQ(Statistic::variance, paper.statistic());
  EXPECT_EQ(ProbeNoise::shared, paper.noise());
  EXPECT_EQ(BiasCorrection::none, paper.bias_correction());
  EXPECT_FALSE(paper.group_by_group());
  EXPECT_TRUE(SAdamOptions::paper().bias_correction(BiasCorrection::adamw) == SAdamOptions());

  const auto reference = SAdamOptions::reference();
  EXPECT_EQ(Directions::per_tensor, reference.directions());
  EXPECT_EQ(Statistic::unbiased_variance, reference.statistic());
  EXPECT_EQ(ProbeNoise::fresh, reference.noise());
  EXPECT_EQ(BiasCorrection::reference, reference.bias_correction());
  EXPECT_TRUE(reference.group_by_group());
  EXPECT_FALSE(reference == paper);
}

/// f(w) = |w| from w = 1 with steps of 0.3: a kink that Adam, without momentum, leaps over in every step.
double last_distance(const SAdamOptions& options) {
  auto w = torch::ones({1}, torch::kFloat64).set_requires_grad(true);
  SAdam optimizer(std::vector<torch::Tensor>{w}, options);
  for (int step = 0; step < 400; ++step) optimizer.step([&] { return w.abs().sum(); });
  return std::abs(w.item<double>());
}

TEST(SAdam, AHeldBrakeGrowsShorterWhereStepsLeapOverAKink) {
  const auto along =
      SAdamOptions(0.3).beta1(0).weight_decay(0).directions(Directions::step).statistic(Statistic::residual);
  const double free = last_distance(SAdamOptions(along).damping(0));
  const double held = last_distance(SAdamOptions(along).brake(Brake::held).damping(0.2).target(0.3));
  EXPECT_GT(free, 0.02);
  EXPECT_LT(held, free / 10);
}

/// f(w, c) = mean |aᵢ·w + c − bᵢ| + ‖w‖²/10: kinks with something smooth between them. In plain double, with
/// w and c in one vector, and in torch.
struct KinkedFit {
  static double factor(std::size_t row, std::size_t e) {
    return std::sin(1.0 + 3.0 * static_cast<double>(row) + 7.0 * static_cast<double>(e));
  }
  static double aim(std::size_t row) { return std::cos(2.0 * static_cast<double>(row)); }
  static double residual(const std::vector<double>& x, std::size_t row) {
    return factor(row, 0) * x[0] + factor(row, 1) * x[1] + factor(row, 2) * x[2] + x[3] - aim(row);
  }
  static double loss(const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t row = 0; row < kRows; ++row) sum += std::abs(residual(x, row)) / kRows;
    return sum + 0.1 * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  }
  static std::vector<double> gradient(const std::vector<double>& x) {
    std::vector<double> g = {0.2 * x[0], 0.2 * x[1], 0.2 * x[2], 0};
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t e = 0; e < 4; ++e)
        g[e] += (residual(x, row) > 0 ? 1 : -1) * (e < 3 ? factor(row, e) : 1) / kRows;
    return g;
  }

  KinkedFit() {
    for (std::size_t row = 0; row < kRows; ++row) {
      b[static_cast<std::int64_t>(row)] = aim(row);
      for (std::size_t e = 0; e < 3; ++e)
        a[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(e)] = factor(row, e);
    }
  }
  torch::Tensor loss() const { return (a.matmul(w) + c - b).abs().mean() + 0.1 * w.square().sum(); }

  static constexpr std::size_t kRows = 7;
  torch::Tensor a = torch::zeros({kRows, 3}, torch::kDouble);
  torch::Tensor b = torch::zeros({kRows}, torch::kDouble);
  torch::Tensor w = torch::tensor({1.0, -1.0, 0.5}, torch::kDouble).set_requires_grad(true);
  torch::Tensor c = torch::tensor({2.0}, torch::kDouble).set_requires_grad(true);
};

/// The rule of a held brake as docs/brakes.md has it, on AdamW, in plain double.
struct PlainHeld {
  double rate, target, damping, ceiling;
  int interval;
  std::vector<double> x = {1.0, -1.0, 0.5, 2.0};
  std::vector<double> m = {0, 0, 0, 0};
  std::vector<double> v = {0, 0, 0, 0};
  double brake = std::min(1.0, ceiling);
  double lgi = 0;

  void step(int t) {
    const auto g = KinkedFit::gradient(x);
    std::vector<double> whole;  // Δ, Adam's step without a brake and without decay
    for (std::size_t e = 0; e < 4; ++e) {
      m[e] = 0.9 * m[e] + 0.1 * g[e];
      v[e] = 0.999 * v[e] + 0.001 * g[e] * g[e];
      whole.push_back(-rate * m[e] / (1 - std::pow(0.9, t)) /
                      (std::sqrt(v[e] / (1 - std::pow(0.999, t))) + 1e-8));
    }
    if ((t - 1) % interval == 0) {
      auto there = x;
      double slope = 0;
      for (std::size_t e = 0; e < 4; ++e) {
        there[e] += brake * whole[e];
        slope += g[e] * brake * whole[e];
      }
      const double beyond = std::abs(KinkedFit::loss(there) - KinkedFit::loss(x) - slope);
      lgi = beyond / (beyond + std::abs(slope) + 1e-12);
      brake *= std::exp(damping * (target - lgi));
      brake = std::min(std::max(brake, 0.001), ceiling);
    }
    for (std::size_t e = 0; e < 4; ++e) x[e] = (1 - rate * 0.01) * x[e] + brake * whole[e];
  }
};

// The least and the largest brake of 60 steps, each of which is the plain one's.
std::pair<double, double> held_as_written(PlainHeld plain) {
  KinkedFit fit;
  SAdam optimizer({fit.w, fit.c}, SAdamOptions(plain.rate)
                                      .directions(Directions::step)
                                      .statistic(Statistic::residual)
                                      .brake(Brake::held)
                                      .target(plain.target)
                                      .damping(plain.damping)
                                      .ceiling(plain.ceiling)
                                      .interval(plain.interval));
  double least = 1e9;
  double largest = 0;
  for (int t = 1; t <= 60; ++t) {
    plain.step(t);
    optimizer.step([&] { return fit.loss(); });
    const auto& summary = optimizer.summary();
    EXPECT_EQ((t - 1) % plain.interval == 0, summary.probed) << "step " << t;
    EXPECT_NEAR(plain.lgi, summary.lgi, 1e-9) << "step " << t;
    EXPECT_NEAR(plain.brake, summary.brake, 1e-9 * plain.brake) << "step " << t;
    for (std::size_t e = 0; e < 4; ++e)
      EXPECT_NEAR(plain.x[e],
                  e < 3 ? fit.w[static_cast<std::int64_t>(e)].item<double>() : fit.c[0].item<double>(), 1e-10)
          << "step " << t;
    least = std::min(least, plain.brake);
    largest = std::max(largest, plain.brake);
  }
  return {least, largest};
}

TEST(SAdam, AHeldBrakeIsTheOneWrittenDownInFloat64) {
  const auto [free_least, free_largest] = held_as_written({0.3, 0.3, 0.2, 1.0, 1});
  EXPECT_LT(free_least, 0.8);
  EXPECT_GT(free_least, 0.01);
  EXPECT_EQ(1, free_largest);
  const auto [low, high] = held_as_written({0.1, 0.3, 0.3, 3.0, 4});
  EXPECT_LT(low, high / 1.5);
  EXPECT_GT(high, 1) << "the ceiling lets steps grow";
  EXPECT_EQ(0.7, held_as_written({0.02, 0.9, 0.5, 0.7, 1}).second) << "begins below 1";
  EXPECT_EQ(0.001, held_as_written({0.1, 0.0, 20.0, 1.0, 4}).first);
}

TEST(SAdam, AHeldBrakeNeedsAProbeAlongTheStep) {
  auto w = torch::ones({1}).set_requires_grad(true);
  try {
    SAdam optimizer(std::vector<torch::Tensor>{w}, SAdamOptions(0.1).brake(Brake::held));
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("along the step"), std::string::npos) << error.what();
  }
}

TEST(SAdam, EveryCombinationOfOptionsTrains) {
  for (auto directions :
       {Directions::sphere, Directions::per_tensor, Directions::rademacher, Directions::step})
    for (auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual})
      for (auto form : {Brake::exponential, Brake::proximal})
        for (auto noise : {ProbeNoise::shared, ProbeNoise::fresh}) {
          if (directions == Directions::step && statistic != Statistic::residual) continue;
          torch::manual_seed(3);
          NoisyNet net;
          const Batch batch;
          SAdam optimizer(
              *net, SAdamOptions(0.02).brake(form).directions(directions).statistic(statistic).noise(noise));
          const double first = optimizer.step([&] { return loss_of(net, batch); }).item<double>();
          for (int step = 0; step < 60; ++step) optimizer.step([&] { return loss_of(net, batch); });
          const auto& summary = optimizer.summary();
          EXPECT_LT(summary.loss, first) << to_string(directions) << " " << to_string(statistic);
          EXPECT_TRUE(summary.probed);
          EXPECT_EQ(directions == Directions::step ? 1u : 2u, summary.differences.size());
          EXPECT_EQ(statistic == Statistic::residual ? summary.differences.size() : 0u,
                    summary.slopes.size());
          EXPECT_GT(summary.probe_seconds, 0);
          EXPECT_DOUBLE_EQ(brake(form, 2.0, summary.lgi), summary.brake);
        }
}

TEST(SAdam, TheResidualAlongTheStepIsTheOneWrittenDown) {
  // f = ½w² from w = 1, lr 0.5: Δ = −0.5 (ε = 0), ⟨g,Δ⟩ = −0.5, f(w+Δ) − f(w) = −0.375, R = 0.125.
  auto w = torch::ones({1}, torch::kDouble).set_requires_grad(true);
  SAdam optimizer(
      {w},
      SAdamOptions(0.5).eps(0).weight_decay(0.3).directions(Directions::step).statistic(Statistic::residual));
  optimizer.step([&] { return 0.5 * (w * w).sum(); });
  const auto& summary = optimizer.summary();
  ASSERT_EQ(1u, summary.differences.size());
  EXPECT_NEAR(-0.375, summary.differences[0], 1e-12);
  EXPECT_NEAR(-0.5, summary.slopes[0], 1e-12);
  EXPECT_NEAR(0.125 / (0.125 + 0.5), summary.lgi, 1e-10);
  EXPECT_NEAR(1 - 0.5 * 0.3 - 0.5 * summary.brake, w.item<double>(), 1e-12);
}

TEST(SAdam, TheResidualWorksWithACallersDirections) {
  // f = ½‖w‖² at w = (1, 2): along u = (3, 4) with δ = 0.1, D = ⟨w,u⟩ + δ/2·‖u‖² = 11 + 1.25.
  auto w = torch::tensor({1.0, 2.0}, torch::kDouble).set_requires_grad(true);
  const auto source = [](const DirectionRequest&) { return torch::tensor({3.0, 4.0}, torch::kDouble); };
  SAdam optimizer(
      {w}, SAdamOptions(0).radius(0.1).probes(1).lgi_eps(0).statistic(Statistic::residual).source(source));
  optimizer.step([&] { return 0.5 * (w * w).sum(); });
  EXPECT_NEAR(12.25, optimizer.summary().differences[0], 1e-10);
  EXPECT_NEAR(11, optimizer.summary().slopes[0], 1e-12);
  EXPECT_NEAR(1.25 * 1.25 / (1.25 * 1.25 + 121), optimizer.summary().lgi, 1e-10);
}

TEST(SAdam, SharedNoiseRepeatsTheMasksAndFreshDrawsNewOnes) {
  for (auto noise : {ProbeNoise::shared, ProbeNoise::fresh}) {
    NoisyNet net;
    const Batch batch;
    SAdam optimizer(*net, SAdamOptions(0).probes(3).radius(1e-6).noise(noise));
    optimizer.step([&] { return loss_of(net, batch); });
    net->masks.clear();
    const auto before = net->norm->num_batches_tracked.item<std::int64_t>();
    optimizer.step([&] { return loss_of(net, batch); });
    ASSERT_EQ(4u, net->masks.size());
    for (int probe = 1; probe < 4; ++probe)
      EXPECT_EQ(noise == ProbeNoise::shared,
                torch::equal(net->masks[0], net->masks[static_cast<std::size_t>(probe)]));
    EXPECT_EQ(before + (noise == ProbeNoise::shared ? 1 : 4),
              net->norm->num_batches_tracked.item<std::int64_t>());
    optimizer.step([&] { return loss_of(net, batch); });
    EXPECT_FALSE(torch::equal(net->masks[0], net->masks[4])) << "the next step draws new masks";
  }
}

// With fresh noise and batch norm: the probes' share in the running statistics, and no brake.
TEST(SAdam, WithoutABrakeWatchedProbesChangeRunningStatisticsAndNoWeight) {
  const auto train = [&](bool watch) {
    torch::manual_seed(5);
    torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3), torch::nn::Linear(3, 2));
    SAdam optimizer(net, SAdamOptions::reference().lr(1e-2).probes(2).damping(0).monitor(watch));
    const auto x = torch::randn({8, 4});
    for (int i = 0; i < 3; ++i) optimizer.step([&] { return net->forward(x).square().mean(); });
    return net;
  };
  auto plain = train(false);
  auto watched = train(true);
  for (std::size_t i = 0; i < plain->parameters().size(); ++i)
    EXPECT_TRUE(torch::equal(plain->parameters()[i], watched->parameters()[i])) << i;
  EXPECT_EQ(3, plain->named_buffers()["1.num_batches_tracked"].item<std::int64_t>());
  EXPECT_EQ(9, watched->named_buffers()["1.num_batches_tracked"].item<std::int64_t>());
  EXPECT_FALSE(
      torch::equal(plain->named_buffers()["1.running_mean"], watched->named_buffers()["1.running_mean"]));
}

TEST(SAdam, WarnsOnceOfAClosureThatIsNotOneFunctionAndOfNoOther) {
  for (const bool next_batch : {false, true}) {
    NoisyNet net;
    std::vector<Batch> batches(40);
    std::size_t calls = 0;
    SAdam optimizer(net, SAdamOptions(0.01));
    const CapturedWarnings warnings;
    for (int i = 0; i < 3; ++i)
      optimizer.step([&] { return loss_of(net, batches[next_batch ? calls++ : 0]); });
    EXPECT_EQ(next_batch ? 1u : 0u, warnings.count("let the closure use the same batch each time"));
    EXPECT_EQ(next_batch ? 1u : 0u, warnings.sentences().size());
  }
}

TEST(SAdam, ProbesEveryNthStepAndKeepsRhoBetween) {
  auto w = torch::randn({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).interval(3));
  int evaluations = 0;
  double kept = 0;
  for (int step = 0; step < 7; ++step) {
    evaluations = 0;
    optimizer.step([&] {
      ++evaluations;
      return w.abs().sum();
    });
    EXPECT_EQ(step == 0 ? 5 : step % 3 == 0 ? 3 : 1, evaluations) << step << ": the first is checked";
    EXPECT_EQ(step % 3 == 0, optimizer.summary().probed);
    if (step % 3 == 0) kept = optimizer.summary().lgi;
    EXPECT_EQ(kept, optimizer.summary().lgi);
    EXPECT_GT(kept, 0);
    EXPECT_DOUBLE_EQ(std::exp(-2 * kept), optimizer.summary().brake);
  }
}

TEST(SAdam, DampingZeroProbesOnlyToMonitor) {
  auto w = torch::randn({50}).set_requires_grad(true);
  for (bool monitor : {false, true}) {
    SAdam optimizer({w}, SAdamOptions(0.01).damping(0).monitor(monitor));
    optimizer.step([&] { return w.abs().sum(); });
    EXPECT_EQ(monitor, optimizer.summary().probed);
    EXPECT_EQ(monitor, optimizer.summary().lgi > 0);
    EXPECT_EQ(1, optimizer.summary().brake);
  }
}

TEST(SAdam, DirectionsChangeFromStepToStepAndNotWithTheSplitIntoTensors) {
  // lr = 0 and a linear loss: D_i = ⟨slope, u_i⟩ shows the directions.
  const auto slope = torch::randn({100}, torch::kDouble);
  const auto differences = [&](const std::vector<std::int64_t>& sizes) {
    std::vector<torch::Tensor> parameters;
    for (auto size : sizes)
      parameters.push_back(torch::zeros({size}, torch::kDouble).set_requires_grad(true));
    SAdam optimizer(parameters, SAdamOptions(0).probes(3));
    std::vector<std::vector<double>> seen;
    for (int step = 0; step < 2; ++step) {
      optimizer.step([&] { return (slope * torch::cat(parameters)).sum(); });
      seen.push_back(optimizer.summary().differences);
    }
    return seen;
  };
  const auto whole = differences({100});
  EXPECT_NE(whole[0], whole[1]);
  EXPECT_NE(whole[0][0], whole[0][1]);
  const auto split = differences({1, 62, 37});
  for (int step = 0; step < 2; ++step)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(whole[static_cast<std::size_t>(step)][i], split[static_cast<std::size_t>(step)][i], 1e-12);
}

TEST(SAdam, SchedulersSetTheRateAndTheBrakeLeavesIt) {
  auto w = torch::ones({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.5));
  torch::optim::StepLR schedule(optimizer, 1, 0.5);
  for (int step = 0; step < 3; ++step) {
    optimizer.step([&] { return w.sum(); });
    schedule.step();
  }
  EXPECT_LT(optimizer.summary().brake, 1);
  EXPECT_EQ(0.125, optimizer.param_groups()[0].options().get_lr());
}

TEST(SAdam, TheCapBoundsRho) {
  auto w = torch::randn({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).cap(0.125));
  optimizer.step([&] { return w.sum(); });
  EXPECT_EQ(0.125, optimizer.summary().lgi);
}

// As a generator and a discriminator do: the closure of each runs both.
TEST(SAdam, TwoModelsInOneClosureTrackEachBatchOnceWhereBothAreProtected) {
  const auto make = [] {
    return torch::nn::Sequential(torch::nn::Linear(3, 3), torch::nn::BatchNorm1d(3), torch::nn::Linear(3, 3));
  };
  auto one = make();
  auto other = make();
  SAdam first(one, SAdamOptions(1e-3).probes(2));
  SAdam second(other, SAdamOptions(1e-3).probes(2));
  first.protect(other->buffers());
  second.protect(one->buffers());
  const auto x = torch::randn({8, 3});
  const auto loss = [&] { return other->forward(one->forward(x)).abs().mean(); };
  for (int i = 0; i < 4; ++i) {
    first.step(loss);
    second.step(loss);
  }
  for (auto& net : {one, other})
    EXPECT_EQ(net->named_buffers()["1.num_batches_tracked"].item<std::int64_t>(), 8);
}

}  // namespace
}  // namespace sadam
