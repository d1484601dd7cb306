// Steps that are skipped, and steps of several rounds.
#include <cmath>

#include "step_on_gpu.h"

namespace sadam::kernels::cuda {
namespace {

/// Nothing moved but the counts, and the record says why.
void expect_skipped(const StepOnGpu& step, double loss, double bad_loss, double bad_gradient) {
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_TRUE(same_bits<double>({record[kRecordLoss]}, {loss}) || std::isnan(loss));
  EXPECT_EQ(std::isnan(record[kRecordLoss]), std::isnan(loss));
  EXPECT_EQ(record[kRecordProbed], 0);
  EXPECT_EQ(record[kRecordSkipped], 1);
  EXPECT_EQ(record[kRecordNonFiniteLoss], bad_loss);
  EXPECT_EQ(record[kRecordNonFiniteGradient], bad_gradient);
  EXPECT_EQ(record[kRecordNonFiniteProbes], 0);
  EXPECT_EQ(record[step.lgi_at()], 0.25);
  EXPECT_EQ(record[step.lgi_at() + 1], 0.75);
  EXPECT_EQ(record[step.brakes_at()], 1);
  EXPECT_EQ(record[step.brakes_at() + 1], 1);
  const auto numbers = step.numbers.value();
  EXPECT_EQ(numbers.steps, 40);
  EXPECT_EQ(numbers.begun, 45);
  EXPECT_EQ(numbers.skipped, 5);
  EXPECT_EQ(numbers.non_finite_probes, 2);
  EXPECT_EQ(numbers.skip, 1);
  EXPECT_EQ(step.last_lgi.values(), (std::vector<double>{0.25, 0.75}));
  const auto before = StepOnGpu::parameters_before();
  const auto parameters = step.parameters.values();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].t, before[i].t);
    EXPECT_EQ(parameters[i].coefficients.step_size, -7);
  }
}

TEST(CudaSkippedStep, HasALossThatIsNotFinite) {
  for (const double bad : {kNotANumber, kInfinite}) {
    StepOnGpu step({1.4, bad});
    step.loss.set({bad});
    finish_probes(step.finish());
    expect_skipped(step, bad, 1, 0);
  }
}

TEST(CudaSkippedStep, HasAGradientThatIsNotFinite) {
  for (const bool has_loss : {true, false}) {
    StepOnGpu step({1.4, kInfinite});
    auto numbers = StepOnGpu::numbers_before();
    numbers.non_finite_gradient = 17;
    step.change(numbers);
    step.base.set({kInfinite});  // no longer matters
    auto launch = step.finish();
    launch.has_loss = has_loss;
    finish_probes(launch);
    expect_skipped(step, has_loss ? 1.5 : kNotANumber, 0, 17);
  }
}

TEST(CudaSkippedStep, HasABaseThatIsNotFiniteInThePrecisionOfTheProbes) {
  StepOnGpu step({1.4, 1.6});
  step.base.set({kInfinite});
  finish_probes(step.finish());
  expect_skipped(step, kInfinite, 1, 0);
}

// Groups that take turns are compared with one base, and the first may not be probed itself.
TEST(CudaSkippedStep, HasABaseThatIsNotFiniteForALaterGroup) {
  StepOnGpu step({1.4, 1.6});
  step.base.set({kInfinite});
  auto launch = step.finish();
  launch.probes = 0;
  launch.has_base = true;
  finish_probes(launch);
  expect_skipped(step, kInfinite, 1, 0);
}

TEST(CudaSkippedStep, IsNotOneWhoseUnusedBaseIsNotFinite) {
  StepOnGpu step({1.4, 1.6});
  step.base.set({kInfinite});
  auto launch = step.finish();
  launch.probes = 0;
  finish_probes(launch);
  EXPECT_EQ(step.numbers.value().skip, 0);
  EXPECT_EQ(step.numbers.value().steps, 41);
}

TEST(CudaSkippedStep, IsNotOneWithoutALoss) {
  StepOnGpu step({});
  step.loss.set({kNotANumber});
  auto launch = step.finish();
  launch.has_loss = false;
  finish_probes(launch);
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_TRUE(std::isnan(record[kRecordLoss]));
  EXPECT_EQ(record[kRecordNonFiniteLoss], 0);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(step.numbers.value().steps, 41);
}

/// The rounds of a step that probes its two groups one after the other, two probes each.
std::vector<FinishProbes> two_rounds(const StepOnGpu& step) {
  auto first = step.finish(), second = step.finish();
  first.probes = second.probes = 2;
  first.end_group = 1;
  first.last_round = false;
  second.first_group = 1;
  second.first_round = false;
  second.first_probe = 2;
  return {first, second};
}

TEST(CudaRounds, UpdateOneGroupAfterTheOther) {
  StepOnGpu step({1.4, 1.55, 1.1, 1.3});
  const auto rounds = two_rounds(step);
  finish_probes(rounds[0]);
  EXPECT_EQ(step.numbers.value().steps, 40);
  EXPECT_EQ(step.numbers.value().begun, 44);
  auto parameters = step.parameters.values();
  EXPECT_EQ(parameters[0].t, 1);
  EXPECT_EQ(parameters[3].t, 30);
  EXPECT_EQ(parameters[3].coefficients.step_size, -7);
  EXPECT_EQ(step.last_lgi.values()[1], 0.75);

  step.base.set({1.2});  // the first group has moved
  finish_probes(rounds[1]);
  EXPECT_EQ(step.numbers.value().steps, 41);
  EXPECT_EQ(step.numbers.value().begun, 45);
  parameters = step.parameters.values();
  EXPECT_EQ(parameters[0].t, 1);
  EXPECT_EQ(parameters[3].t, 31);
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], 4);
  const std::vector<double> d = {(1.4 - 1.5) / 0.01, (1.55 - 1.5) / 0.01, (1.1 - 1.2) / 0.01,
                                 (1.3 - 1.2) / 0.01};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(record[step.differences_at() + i], d[i]);
  for (std::size_t g = 0; g < 2; ++g) {
    const double lgi = lgi_of(Statistic::variance, {d.data() + 2 * g, nullptr, 2}, 1e-6);
    EXPECT_NEAR(record[step.lgi_at() + g], lgi, 1e-14);
    const auto rule = step_rule(static_cast<std::int64_t>(g));
    EXPECT_NEAR(record[step.brakes_at() + g], brake_of(rule.brake, rule.damping, lgi), 1e-14);
  }
}

TEST(CudaRounds, ThatAreNotProbedLeaveNoGapInTheRecord) {
  StepOnGpu step({1.4, 1.55, 1.1, 1.3});
  auto rounds = two_rounds(step);
  rounds[0].probes = 0;
  finish_probes(rounds[0]);
  finish_probes(rounds[1]);
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordProbed], 2);
  EXPECT_EQ(record[step.differences_at()], (1.1 - 1.5) / 0.01);
  EXPECT_EQ(record[step.differences_at() + 1], (1.3 - 1.5) / 0.01);
  EXPECT_TRUE(std::isnan(record[step.differences_at() + 2]));
}

TEST(CudaRounds, AreWithinNoiseOnlyTogether) {
  for (const bool first_is : {true, false}) {
    for (const bool second_is : {true, false}) {
      const double one = first_is ? 1.5 : 1.6, two = second_is ? 1.5 : 1.6;
      const StepOnGpu step({one, 1.5, 1.5, two});
      for (const auto& round : two_rounds(step)) finish_probes(round);
      EXPECT_EQ(step.record(44 % StepOnGpu::kRing)[kRecordWithinNoise], first_is && second_is ? 1 : 0);
    }
  }
}

TEST(CudaRounds, AreAllSkippedIfTheFirstIs) {
  StepOnGpu step({1.4, 1.55, 1.1, 1.3});
  step.loss.set({kNotANumber});
  for (const auto& round : two_rounds(step)) finish_probes(round);
  expect_skipped(step, kNotANumber, 1, 0);
}

// The earlier groups have been updated already, so the step cannot be undone.
TEST(CudaRounds, GoOnWithTheOldRhoIfALaterBaseIsNotFinite) {
  StepOnGpu step({1.4, 1.55, 1.1, 1.3});
  const auto rounds = two_rounds(step);
  finish_probes(rounds[0]);
  step.base.set({kInfinite});
  finish_probes(rounds[1]);
  const auto record = step.record(44 % StepOnGpu::kRing);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(record[kRecordNonFiniteLoss], 1);
  EXPECT_EQ(record[kRecordLoss], kInfinite);
  EXPECT_EQ(record[step.lgi_at() + 1], 0.75);
  EXPECT_EQ(step.parameters.values()[3].t, 31);
  EXPECT_EQ(step.numbers.value().steps, 41);
}

TEST(CudaRecords, GoAroundTheRing) {
  const StepOnGpu step({1.4, 1.55});
  for (int i = 0; i < 4; ++i) finish_probes(step.finish());
  EXPECT_EQ(step.record(44 % 3)[kRecordStep], 43) << "written over by the fourth step";
  EXPECT_EQ(step.record(45 % 3)[kRecordStep], 41);
  EXPECT_EQ(step.record(46 % 3)[kRecordStep], 42);
}

}  // namespace
}  // namespace sadam::kernels::cuda
