// ρ, brakes and coefficients of one round, against the same formulas on the host.
#include <algorithm>
#include <cmath>

#include "step_on_gpu.h"

namespace sadam::kernels::cuda {
namespace {

std::vector<double> losses_around(double base, std::int64_t count) {
  auto losses = random_values<double>(count, 8, -0.02, 0.03);
  for (auto& loss : losses) loss += base;
  return losses;
}

/// What finish_probes must have made of finite numbers.
void expect_finished(const StepOnGpu& step, const FinishProbes& launch, const std::vector<double>& losses,
                     const std::vector<double>& slopes) {
  std::vector<double> differences;
  const double distance = launch.along_step ? 1 : launch.distance;
  for (const double loss : losses) differences.push_back((loss - 1.5) / distance);
  const double raw =
      launch.along_step
          ? step_lgi_of(differences[0], slopes[0])
          : lgi_of(launch.statistic, {differences.data(), slopes.data(), step.probes}, launch.lgi_eps);
  const double lgi = std::min(raw, launch.cap);
  const bool slopes_matter = launch.statistic == Statistic::residual || launch.along_step;

  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], static_cast<double>(losses.size()));
  EXPECT_EQ(record[kRecordWithinNoise], 0);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(record[kRecordNonFiniteLoss], 0);
  EXPECT_EQ(record[kRecordNonFiniteGradient], 0);
  EXPECT_EQ(record[kRecordNonFiniteProbes], 0);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_EQ(record[step.differences_at() + i], differences[i]) << i;
    if (slopes_matter) {
      EXPECT_EQ(record[step.slopes_at() + i], slopes[i]) << i;
    }
  }
  const auto rules = step.rules.values();
  const auto last = step.last_lgi.values();
  for (std::size_t g = 0; g < 2; ++g) {
    const auto rule = step_rule(static_cast<std::int64_t>(g));
    const double brake = brake_of(rule.brake, rule.damping, lgi);
    EXPECT_NEAR(record[step.lgi_at() + g], lgi, 1e-14);
    EXPECT_NEAR(record[step.brakes_at() + g], brake, 1e-14);
    EXPECT_EQ(last[g], record[step.lgi_at() + g]);
    EXPECT_EQ(rules[g].adam.brake, record[step.brakes_at() + g]);
  }
  const auto before = StepOnGpu::parameters_before();
  const auto parameters = step.parameters.values();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (before[i].trained == 0) {
      EXPECT_EQ(parameters[i].t, before[i].t);
      EXPECT_EQ(parameters[i].coefficients.step_size, -7);
      continue;
    }
    EXPECT_EQ(parameters[i].t, before[i].t + 1);
    auto rule = step_rule(before[i].group).adam;
    rule.brake = rules[static_cast<std::size_t>(before[i].group)].adam.brake;
    expect_coefficients(parameters[i].coefficients, coefficients_at(rule, before[i].t + 1));
  }
  const auto numbers = step.numbers.value();
  EXPECT_EQ(numbers.steps, 41);
  EXPECT_EQ(numbers.begun, 45);
  EXPECT_EQ(numbers.skipped, 4);
  EXPECT_EQ(numbers.non_finite_probes, 2);
  EXPECT_EQ(numbers.skip, 0);
}

// 300 are more than the kernel's fast memory holds.
TEST(CudaFinishProbes, FollowsEveryStatistic) {
  for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    for (const std::int64_t count : {1, 2, 5, 256, 300}) {
      const auto losses = losses_around(1.5, count);
      const auto slopes = random_values<double>(count, 9, -2, 2);
      const StepOnGpu step(losses, slopes);
      auto launch = step.finish();
      launch.statistic = statistic;
      finish_probes(launch);
      expect_finished(step, launch, losses, slopes);
    }
  }
}

TEST(CudaFinishProbes, LooksAlongTheStep) {
  const StepOnGpu step({1.2}, {-0.4});
  auto launch = step.finish();
  launch.along_step = true;
  launch.statistic = Statistic::residual;
  finish_probes(launch);
  expect_finished(step, launch, {1.2}, {-0.4});
}

TEST(CudaFinishProbes, CapsRho) {
  const std::vector<double> losses = {1.4, 1.6};
  const StepOnGpu step(losses);
  auto launch = step.finish();
  launch.statistic = Statistic::unbiased_variance;
  launch.cap = 0.3;
  finish_probes(launch);
  expect_finished(step, launch, losses, {0, 0});
  EXPECT_EQ(step.last_lgi.values(), (std::vector<double>{0.3, 0.3}));
}

TEST(CudaFinishProbes, WithoutProbesKeepsRho) {
  const StepOnGpu step({9, 9});
  auto launch = step.finish();
  launch.probes = 0;
  finish_probes(launch);
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordProbed], 0);
  EXPECT_EQ(record[step.lgi_at()], 0.25);
  EXPECT_EQ(record[step.lgi_at() + 1], 0.75);
  EXPECT_NEAR(record[step.brakes_at()], std::exp(-0.5), 1e-15);
  EXPECT_NEAR(record[step.brakes_at() + 1], 1 / 1.375, 1e-15);
  EXPECT_EQ(step.last_lgi.values(), (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(step.numbers.value().steps, 41);
}

TEST(CudaFinishProbes, TakesAGivenBrakeAsItIs) {
  StepOnGpu step(losses_around(1.5, 2));
  auto given = step_rule(1);
  given.given_brake = 0;
  step.rules.set({step_rule(0), given});
  finish_probes(step.finish());
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_NE(record[step.brakes_at()], 0);
  EXPECT_EQ(record[step.brakes_at() + 1], 0);
  EXPECT_EQ(step.parameters.values()[3].coefficients.step_size, 0);
}

TEST(CudaFinishProbes, ANonFiniteProbeBrakesThisStepAlone) {
  for (const double bad : {kNotANumber, kInfinite}) {
    for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
      const StepOnGpu step({1.4, bad, 1.6}, {1, 1, 1});
      auto launch = step.finish();
      launch.statistic = statistic;
      finish_probes(launch);
      const double largest = statistic == Statistic::unbiased_variance ? 1.5 : 1;
      const auto record = step.record(44 % StepOnGpu::kRing);
      EXPECT_EQ(record[kRecordNonFiniteProbes], 1);
      EXPECT_EQ(record[kRecordWithinNoise], 0);
      EXPECT_EQ(record[kRecordSkipped], 0);
      EXPECT_EQ(record[step.lgi_at()], largest);
      EXPECT_NEAR(record[step.brakes_at()], std::exp(-2 * largest), 1e-15);
      EXPECT_EQ(step.last_lgi.values(), (std::vector<double>{0.25, 0.75}));
      EXPECT_EQ(step.numbers.value().non_finite_probes, 3);
      EXPECT_EQ(step.numbers.value().steps, 41);
    }
  }
}

TEST(CudaFinishProbes, SaysWhenAllChangesAreWithinRounding) {
  for (const double change : {1e-7, 1e-6}) {
    const StepOnGpu step({1.5 + 1e-8, 1.5 + change});
    auto launch = step.finish();
    launch.rounding = 0x1p-23;  // twice 1.5·2⁻²³ is 3.6e-7
    finish_probes(launch);
    EXPECT_EQ(step.record(44 % StepOnGpu::kRing)[kRecordWithinNoise], change < 3.6e-7 ? 1 : 0);
  }
}

TEST(CudaFinishProbes, HasTheSameBitsOnEveryRun) {
  const StepOnGpu one(losses_around(1.5, 8)), two(losses_around(1.5, 8));
  finish_probes(one.finish());
  finish_probes(two.finish());
  EXPECT_TRUE(same_bits(one.records.values(), two.records.values()));
}

}  // namespace
}  // namespace sadam::kernels::cuda
