// What ends a step of one round, against the formulas written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/random_values.h"
#include "kernels/step_arrays.h"

namespace sadam::kernels {
namespace {

using Doubles = std::vector<double>;

Doubles losses_around(double base, std::int64_t count) {
  auto losses = random_values<double>(count, 8, -0.02, 0.03);
  for (auto& loss : losses) loss += base;
  return losses;
}

double mean(const Doubles& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// ρ as the paper writes it.
double plain_rho(const Round& round, const Doubles& d, const Doubles& s) {
  if (round.along_step) return std::abs(d[0] - s[0]) / (std::abs(d[0] - s[0]) + std::abs(s[0]) + 1e-12);
  const auto k = static_cast<double>(d.size());
  Doubles squares, residuals, explained;
  for (std::size_t i = 0; i < d.size(); ++i) {
    squares.push_back(d[i] * d[i]);
    residuals.push_back((d[i] - s[i]) * (d[i] - s[i]));
    explained.push_back(s[i] * s[i]);
  }
  if (round.statistic == Statistic::residual)
    return mean(residuals) / (mean(residuals) + mean(explained) + round.lgi_eps);
  const double variance = std::max(0.0, mean(squares) - mean(d) * mean(d));
  const bool unbiased = round.statistic == Statistic::unbiased_variance;
  if (unbiased && d.size() == 1) return 0;
  return variance * (unbiased ? k / (k - 1) : 1) / (mean(squares) + round.lgi_eps);
}

/// What a round must have made of finite numbers.
void expect_finished(const StepArrays& step, const Round& round, const Doubles& losses,
                     const Doubles& slopes) {
  Doubles differences;
  for (const double loss : losses) differences.push_back((loss - 1.5) / round.distance);
  const double lgi = std::min(plain_rho(round, differences, slopes), round.cap);
  const bool slopes_matter = round.statistic == Statistic::residual || round.along_step;

  const auto record = step.record();
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], static_cast<double>(losses.size()));
  EXPECT_EQ(record[kRecordWithinNoise], 0);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(record[kRecordNonFiniteLoss], 0);
  EXPECT_EQ(record[kRecordNonFiniteGradient], 0);
  EXPECT_EQ(record[kRecordNonFiniteProbes], 0);
  EXPECT_EQ(record[kRecordProbeSeconds], round.probe_seconds);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_EQ(record[step.differences_at() + i], differences[i]) << i;
    if (slopes_matter) {
      EXPECT_EQ(record[step.slopes_at() + i], slopes[i]) << i;
    } else {
      EXPECT_TRUE(std::isnan(record[step.slopes_at() + i])) << i;
    }
  }
  const double brakes[] = {std::exp(-2 * lgi), 1 / (1 + 0.5 * lgi)};
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_NEAR(record[step.lgi_at() + g], lgi, 1e-12);
    EXPECT_NEAR(record[step.brakes_at() + g], brakes[g], 1e-12);
    EXPECT_EQ(step.last_lgi()[g], record[step.lgi_at() + g]);
    EXPECT_EQ(step.rules[g].applied_brake, record[step.brakes_at() + g]);
  }
  const auto before = StepArrays::parameters_before();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& parameter = step.parameters[i];
    if (before[i].trained == 0) {
      EXPECT_EQ(parameter.t, before[i].t);
      EXPECT_EQ(parameter.coefficients.step_size, -7);
      continue;
    }
    EXPECT_EQ(parameter.t, before[i].t + 1);
    const auto t = static_cast<double>(parameter.t);
    const double lr = before[i].group == 0 ? 0.01 : 0.02;
    const double brake = brakes[before[i].group];
    EXPECT_NEAR(parameter.coefficients.step_size, lr * brake / (1 - std::pow(0.9, t)), 1e-12);
    EXPECT_NEAR(parameter.coefficients.root_scale, 1 / std::sqrt(1 - std::pow(0.999, t)), 1e-11);
    EXPECT_NEAR(parameter.coefficients.decay, 1 - lr * 0.1, 1e-16);
  }
  const auto& numbers = step.numbers[0];
  EXPECT_EQ(numbers.steps, 41);
  EXPECT_EQ(numbers.begun, 45);
  EXPECT_EQ(numbers.skipped, 4);
  EXPECT_EQ(numbers.non_finite_probes, 2);
  EXPECT_EQ(numbers.skip, 0);
}

TEST(FinishStepKernel, FollowsEveryStatistic) {
  for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    for (const std::int64_t count : {1, 2, 5, 300}) {
      const auto losses = losses_around(1.5, count);
      const auto slopes = random_values<double>(count, 9, -2, 2);
      StepArrays step(losses, slopes);
      auto round = step.round();
      round.statistic = statistic;
      round.probe_seconds = 0.125;
      step.finish(round);
      expect_finished(step, round, losses, slopes);
    }
  }
}

TEST(FinishStepKernel, LooksAlongTheStep) {
  StepArrays step({1.2}, {-0.4});
  auto round = step.round();
  round.along_step = true;
  round.distance = 1;
  step.finish(round);
  expect_finished(step, round, {1.2}, {-0.4});
}

// One group holds its brake, the other does not.
TEST(FinishStepKernel, HoldsABrake) {
  StepArrays step({1.2}, {-0.4});  // D = −0.3, R = 0.1: ρ = 0.2
  step.rules[1].brake = Brake::held;
  step.rules[1].target = 0.5;
  step.rules[1].ceiling = 1;
  auto round = step.round();
  round.along_step = true;
  round.distance = 1;
  cpu_kernels().start_step({step.state(), {}});
  const auto& held = step.parameters[3];
  EXPECT_NEAR(held.coefficients.step_size, 0.8 * 0.02 / (1 - std::pow(0.9, 31)), 1e-15)
      << "the probe looks along the step with the last brake";
  EXPECT_NEAR(step.parameters[2].coefficients.step_size, 0.01 / (1 - std::pow(0.9, 21)), 1e-15);
  step.slopes = {-0.4};
  step.finish(round);
  const double brake = 0.8 * std::exp(0.5 * 0.3);
  EXPECT_NEAR(step.record()[step.brakes_at() + 1], brake, 1e-10);
  EXPECT_NEAR(held.coefficients.step_size, brake * 0.02 / (1 - std::pow(0.9, 31)), 1e-12);
  EXPECT_EQ(step.memory[1].brake, step.rules[1].applied_brake);
  EXPECT_EQ(step.memory[0].brake, 0.9) << "not held, so not touched";

  round.probes = 0;  // between probes it stays
  step.finish(round);
  EXPECT_EQ(step.record()[step.brakes_at() + 1], step.memory[1].brake);
  EXPECT_NEAR(step.memory[1].brake, brake, 1e-10);

  step.rules[1].given_brake = 0.25;  // a caller's own is not remembered
  step.finish(round);
  EXPECT_EQ(step.rules[1].applied_brake, 0.25);
  EXPECT_NEAR(step.memory[1].brake, brake, 1e-10);
}

TEST(FinishStepKernel, AHeldBrakeStartsBelowItsCeilingAndIsNothingWithoutDamping) {
  for (const double damping : {0.5, 0.0}) {
    StepArrays step({1.2}, {-0.4});  // ρ = 0.2
    step.rules[1].brake = Brake::held;
    step.rules[1].damping = damping;
    step.rules[1].target = 0.5;
    step.rules[1].ceiling = 0.5;
    auto round = step.round();
    round.along_step = true;
    round.distance = 1;
    cpu_kernels().start_step({step.state(), {}});
    const double brake = damping > 0 ? 0.5 : 1;
    EXPECT_NEAR(step.parameters[3].coefficients.step_size, brake * 0.02 / (1 - std::pow(0.9, 31)), 1e-15);
    for (const std::int64_t probes : {1, 0}) {
      step.slopes = {-0.4};
      round.probes = probes;
      step.finish(round);
      EXPECT_EQ(step.rules[1].applied_brake, brake) << damping << ' ' << probes;
    }
  }
}

TEST(FinishStepKernel, CapsRho) {
  const Doubles losses = {1.4, 1.6};
  StepArrays step(losses);
  auto round = step.round();
  round.statistic = Statistic::unbiased_variance;
  round.cap = 0.3;
  step.finish(round);
  expect_finished(step, round, losses, {0, 0});
  EXPECT_EQ(step.last_lgi(), (Doubles{0.3, 0.3}));
}

TEST(FinishStepKernel, WithoutProbesKeepsRho) {
  StepArrays step({9, 9});
  auto round = step.round();
  round.probes = 0;
  step.finish(round);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordProbed], 0);
  EXPECT_EQ(record[step.lgi_at()], 0.25);
  EXPECT_EQ(record[step.lgi_at() + 1], 0.75);
  EXPECT_NEAR(record[step.brakes_at()], std::exp(-0.5), 1e-15);
  EXPECT_NEAR(record[step.brakes_at() + 1], 1 / 1.375, 1e-15);
  EXPECT_EQ(step.last_lgi(), (Doubles{0.25, 0.75}));
  EXPECT_EQ(step.numbers[0].steps, 41);
}

TEST(FinishStepKernel, TakesAGivenBrakeAsItIs) {
  StepArrays step(losses_around(1.5, 2));
  step.rules[1].given_brake = 0;
  step.finish(step.round());
  const auto record = step.record();
  EXPECT_NE(record[step.brakes_at()], 0);
  EXPECT_EQ(record[step.brakes_at() + 1], 0);
  EXPECT_EQ(step.parameters[3].coefficients.step_size, 0);
}

TEST(FinishStepKernel, ANonFiniteProbeBrakesThisStepAlone) {
  for (const double bad : {kNotANumber, kInfinite}) {
    for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
      StepArrays step({1.4, bad, 1.6}, {1, 1, 1});
      auto round = step.round();
      round.statistic = statistic;
      step.finish(round);
      const double largest = statistic == Statistic::unbiased_variance ? 1.5 : 1;
      const auto record = step.record();
      EXPECT_EQ(record[kRecordNonFiniteProbes], 1);
      EXPECT_EQ(record[kRecordWithinNoise], 0);
      EXPECT_EQ(record[kRecordSkipped], 0);
      EXPECT_EQ(record[step.lgi_at()], largest);
      EXPECT_NEAR(record[step.brakes_at()], std::exp(-2 * largest), 1e-15);
      EXPECT_EQ(step.last_lgi(), (Doubles{0.25, 0.75}));
      EXPECT_EQ(step.numbers[0].non_finite_probes, 3);
      EXPECT_EQ(step.numbers[0].steps, 41);
    }
  }
}

TEST(FinishStepKernel, SaysWhenAllChangesAreWithinRounding) {
  for (const double change : {1e-7, 1e-6}) {
    StepArrays step({1.5 + 1e-8, 1.5 + change});
    auto round = step.round();
    round.rounding = 0x1p-23;  // twice 1.5·2⁻²³ is 3.6e-7
    step.finish(round);
    EXPECT_EQ(step.record()[kRecordWithinNoise], change < 3.6e-7 ? 1 : 0);
  }
}

TEST(FinishStepKernel, TakesNoNonFiniteProbeForRounding) {
  for (const double bad : {kNotANumber, kInfinite, -kInfinite}) {
    for (const double rounding : {0.0, 0x1p-23}) {
      StepArrays step({1.5, bad});
      auto round = step.round();
      round.rounding = rounding;
      step.finish(round);
      EXPECT_EQ(step.record()[kRecordWithinNoise], 0) << bad;
    }
  }
}

TEST(FinishStepKernel, WritesRecordsAroundTheRing) {
  StepArrays step({1.4, 1.55});
  for (int i = 0; i < 4; ++i) step.finish(step.round());
  EXPECT_EQ(step.record(44)[kRecordStep], 43) << "written over by the fourth step";
  EXPECT_EQ(step.record(45)[kRecordStep], 41);
  EXPECT_EQ(step.record(46)[kRecordStep], 42);
}

}  // namespace
}  // namespace sadam::kernels
