#include <sadam/s_adam.h>

#include <cmath>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

TEST(SAdam, ANonFiniteLossSkipsTheStep) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net);
  optimizer.step([&] { return loss_of(net, batch); });
  const auto weights = copies(net->parameters());
  int evaluations = 0;
  for (double bad : {std::nan(""), HUGE_VAL}) {
    optimizer.step([&] {
      ++evaluations;
      return loss_of(net, batch) * bad;
    });
    EXPECT_TRUE(optimizer.summary().skipped);
    EXPECT_EQ(1, optimizer.summary().non_finite_loss);
    EXPECT_FALSE(optimizer.summary().probed);
  }
  EXPECT_EQ(2, evaluations) << "no probe is wasted on it";
  expect_same_bits(weights, net->parameters());
  EXPECT_EQ(2, optimizer.totals().skipped);
  EXPECT_EQ(1, optimizer.totals().steps);
}

TEST(SAdam, ASkippedStepLeavesMomentsAndBuffers) {
  // Two runs, one of which meets a broken batch between two good ones: they end alike, masks apart.
  const auto run = [](bool interrupted) {
    torch::manual_seed(3);
    NoisyNet net;
    net->dropout->options.p(0);
    const Batch good;
    Batch broken = good;
    broken.inputs = good.inputs.clone();
    broken.inputs[0][0] = std::nan("");
    SAdam optimizer(*net, SAdamOptions(0.01));
    optimizer.step([&] { return loss_of(net, good); });
    if (interrupted) {
      optimizer.step([&] { return loss_of(net, broken); });
      EXPECT_TRUE(optimizer.summary().skipped);
    }
    optimizer.step([&] { return loss_of(net, good); });
    auto result = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) result.push_back(buffer);
    return result;
  };
  expect_same_bits(run(false), run(true));
}

TEST(SAdam, ANonFiniteGradientSkipsTheStep) {
  auto w = torch::zeros({4}).set_requires_grad(true);
  SAdam optimizer({w});
  optimizer.step([&] { return w.sqrt().sum(); });  // slope of √ at 0
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(0, optimizer.summary().non_finite_loss);
  EXPECT_EQ(4, optimizer.summary().non_finite_gradient);
  EXPECT_TRUE(torch::equal(w, torch::zeros({4})));
}

TEST(SAdam, ANonFiniteProbeBrakesFully) {
  for (auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    auto w = torch::full({4}, 1e-6, torch::kDouble).set_requires_grad(true);
    SAdam optimizer({w}, SAdamOptions(1e-9).probes(4).statistic(statistic));
    optimizer.step([&] { return w.log().sum(); });  // NaN where a probe crosses 0
    const auto& summary = optimizer.summary();
    EXPECT_FALSE(summary.skipped);
    EXPECT_GT(summary.non_finite_probes, 0);
    EXPECT_DOUBLE_EQ(statistic == Statistic::unbiased_variance ? 4.0 / 3 : 1.0, summary.lgi);
    EXPECT_EQ(summary.non_finite_probes, optimizer.totals().non_finite_probes);
    EXPECT_TRUE(torch::isfinite(w).all().item<bool>());
  }
}

TEST(SAdam, ANonFiniteProbeBrakesItsOwnStepOnly) {
  auto w = torch::ones({20}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(1e-4).interval(2));
  bool falls_off = true;  // away from where it starts
  const auto loss = [&] {
    const bool moved = !torch::equal(w, torch::ones({20}));
    return falls_off && moved ? w.sum() * HUGE_VAL : w.abs().sum();
  };
  optimizer.step(loss);
  EXPECT_EQ(1, optimizer.summary().lgi);
  falls_off = false;
  optimizer.step(loss);
  EXPECT_FALSE(optimizer.summary().probed);
  EXPECT_EQ(0, optimizer.summary().lgi) << "there is no other ρ yet";
  EXPECT_EQ(1, optimizer.summary().brake);
}

TEST(SAdam, SkippedStepsAreWarnedOfAtTheFirstAndTheTenth) {
  auto w = torch::ones({3}).set_requires_grad(true);
  SAdam optimizer({w});
  const CapturedWarnings warnings;
  std::vector<std::size_t> seen;
  for (int i = 0; i < 30; ++i) {
    optimizer.step([&] { return w.sum() * std::nan(""); });
    optimizer.summary();
    seen.push_back(warnings.sentences().size());
  }
  EXPECT_EQ(1u, seen[0]);
  EXPECT_EQ(1u, seen[8]);
  EXPECT_EQ(2u, seen[9]);
  EXPECT_EQ(2u, seen[29]);
  EXPECT_EQ(1u, warnings.count("1 step was skipped"));
  EXPECT_EQ(1u, warnings.count("10 steps were skipped"));
}

}  // namespace
}  // namespace sadam
