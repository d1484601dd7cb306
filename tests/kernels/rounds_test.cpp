// Steps that are skipped, steps of several rounds, and steps that are judged before they are applied.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/step_arrays.h"

namespace sadam::kernels {
namespace {

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_parameters_untouched(const StepArrays& step) {
  const auto before = StepArrays::parameters_before();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(step.parameters[i].t, before[i].t) << i;
    EXPECT_EQ(step.parameters[i].coefficients.step_size, -7) << i;
  }
}

/// A step that counts as skipped.
void expect_counted_as_skipped(const StepArrays& step) {
  const auto& numbers = step.numbers[0];
  EXPECT_EQ(numbers.steps, 40);
  EXPECT_EQ(numbers.begun, 45);
  EXPECT_EQ(numbers.skipped, 5);
  EXPECT_EQ(numbers.non_finite_probes, 2);
  EXPECT_EQ(numbers.skip, 1);
  EXPECT_EQ(step.record()[kRecordSkipped], 1);
  expect_parameters_untouched(step);
}

/// Nothing moved but the counts, and the record says why.
void expect_skipped(const StepArrays& step, double loss, double bad_loss, double bad_gradient,
                    const std::vector<double>& brakes = {1, 1}) {
  expect_counted_as_skipped(step);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_TRUE(same_number(record[kRecordLoss], loss)) << record[kRecordLoss] << " for " << loss;
  EXPECT_EQ(record[kRecordProbed], 0);
  EXPECT_EQ(record[kRecordNonFiniteLoss], bad_loss);
  EXPECT_EQ(record[kRecordNonFiniteGradient], bad_gradient);
  EXPECT_EQ(record[kRecordNonFiniteProbes], 0);
  EXPECT_EQ(record[step.lgi_at()], 0.25);
  EXPECT_EQ(record[step.lgi_at() + 1], 0.75);
  EXPECT_EQ(record[step.brakes_at()], brakes[0]);
  EXPECT_EQ(record[step.brakes_at() + 1], brakes[1]);
  EXPECT_EQ(step.last_lgi(), (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(step.rules[0].applied_brake, brakes[0]);
}

TEST(SkippedStep, HasALossThatIsNotFinite) {
  for (const double bad : {kNotANumber, kInfinite}) {
    StepArrays step({1.4, bad});
    step.loss = {bad};
    step.finish(step.round());
    expect_skipped(step, bad, 1, 0);
  }
}

TEST(SkippedStep, HasAGradientThatIsNotFinite) {
  for (const bool has_loss : {true, false}) {
    for (const bool has_base : {true, false}) {
      StepArrays step({1.4, kInfinite});
      step.numbers[0].non_finite_gradient = 17;
      step.base = {1.25};
      auto round = step.round();
      round.probes = has_base ? 2 : 0;
      round.has_loss = has_loss;
      round.has_base = has_base;
      step.finish(round);
      expect_skipped(step, has_loss ? 1.5 : has_base ? 1.25 : kNotANumber, 0, 17);
    }
  }
}

// The first round need not be one that probes: groups that take turns are compared with one base.
TEST(SkippedStep, HasABaseThatIsNotFiniteInThePrecisionOfTheProbes) {
  for (const std::int64_t probes : {0, 2}) {
    StepArrays step({1.4, 1.6});
    step.base = {kInfinite};
    auto round = step.round();
    round.probes = probes;
    step.finish(round);
    expect_skipped(step, kInfinite, 1, 0);
  }
}

TEST(SkippedStep, RecordsTheLossOfTrainingIfNeitherIsFinite) {
  StepArrays step({1.4, 1.6});
  step.loss = {-kInfinite};
  step.base = {kInfinite};
  step.finish(step.round());
  expect_skipped(step, -kInfinite, 1, 0);
}

TEST(SkippedStep, IsNotOneWhoseUnusedBaseIsNotFinite) {
  StepArrays step({1.4, 1.6});
  step.base = {kInfinite};
  auto round = step.round();
  round.probes = 0;
  round.has_base = false;
  step.finish(round);
  EXPECT_EQ(step.numbers[0].skip, 0);
  EXPECT_EQ(step.numbers[0].steps, 41);
  EXPECT_EQ(step.record()[kRecordNonFiniteLoss], 0);
}

TEST(SkippedStep, IsNotOneWithoutALoss) {
  StepArrays step({});
  step.loss = {kNotANumber};
  auto round = step.round();
  round.has_loss = false;
  step.finish(round);
  const auto record = step.record();
  EXPECT_TRUE(std::isnan(record[kRecordLoss]));
  EXPECT_EQ(record[kRecordNonFiniteLoss], 0);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(step.numbers[0].steps, 41);
}

/// ρ of two differences: (d₀ − d₁)²/4 over their mean square.
double rho_of_two(double d0, double d1) { return (d0 - d1) * (d0 - d1) / 4 / ((d0 * d0 + d1 * d1) / 2); }

TEST(Rounds, UpdateOneGroupAfterTheOther) {
  StepArrays step({1.4, 1.55, 1.1, 1.3});
  auto rounds = two_rounds(step);
  rounds[0].probe_seconds = 0.25;
  rounds[1].probe_seconds = 0.5;
  step.finish(rounds[0]);
  EXPECT_EQ(step.numbers[0].steps, 40);
  EXPECT_EQ(step.numbers[0].begun, 44);
  EXPECT_EQ(step.parameters[0].t, 1);
  EXPECT_EQ(step.parameters[3].t, 30);
  EXPECT_EQ(step.parameters[3].coefficients.step_size, -7);
  EXPECT_EQ(step.last_lgi()[1], 0.75);

  step.base = {1.2};  // the first group has moved
  step.finish(rounds[1]);
  EXPECT_EQ(step.numbers[0].steps, 41);
  EXPECT_EQ(step.numbers[0].begun, 45);
  EXPECT_EQ(step.parameters[0].t, 1);
  EXPECT_EQ(step.parameters[3].t, 31);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], 4);
  EXPECT_EQ(record[kRecordProbeSeconds], 0.75);
  const std::vector<double> d = {(1.4 - 1.5) / 0.01, (1.55 - 1.5) / 0.01, (1.1 - 1.2) / 0.01,
                                 (1.3 - 1.2) / 0.01};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(record[step.differences_at() + i], d[i]);
  const double rho[] = {rho_of_two(d[0], d[1]), rho_of_two(d[2], d[3])};
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_NEAR(record[step.lgi_at() + g], rho[g], 1e-14);
    EXPECT_EQ(step.last_lgi()[g], record[step.lgi_at() + g]);
  }
  EXPECT_NEAR(record[step.brakes_at()], std::exp(-2 * rho[0]), 1e-14);
  EXPECT_NEAR(record[step.brakes_at() + 1], 1 / (1 + 0.5 * rho[1]), 1e-14);
}

TEST(Rounds, ThatAreNotProbedLeaveNoGapInTheRecord) {
  StepArrays step({1.4, 1.55, 1.1, 1.3});
  auto rounds = two_rounds(step);
  rounds[0].probes = 0;
  for (const auto& round : rounds) step.finish(round);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordProbed], 2);
  EXPECT_EQ(record[step.differences_at()], (1.1 - 1.5) / 0.01);
  EXPECT_EQ(record[step.differences_at() + 1], (1.3 - 1.5) / 0.01);
  EXPECT_TRUE(std::isnan(record[step.differences_at() + 2]));
  EXPECT_EQ(record[step.lgi_at()], 0.25);
}

TEST(Rounds, AreWithinNoiseOnlyTogether) {
  for (const bool first_is : {true, false}) {
    for (const bool second_is : {true, false}) {
      const double one = first_is ? 1.5 : 1.6, two = second_is ? 1.5 : 1.6;
      StepArrays step({one, 1.5, 1.5, two});
      for (const auto& round : two_rounds(step)) step.finish(round);
      EXPECT_EQ(step.record()[kRecordWithinNoise], first_is && second_is ? 1 : 0);
    }
  }
}

TEST(Rounds, CountTheirNonFiniteProbesTogetherAndJudgeThemApart) {
  StepArrays step({kInfinite, 1.5, 1.4, 1.6});
  for (const auto& round : two_rounds(step)) step.finish(round);
  EXPECT_EQ(step.record()[kRecordNonFiniteProbes], 1);
  EXPECT_EQ(step.numbers[0].non_finite_probes, 3);
  EXPECT_EQ(step.record()[step.lgi_at()], 1);
  EXPECT_EQ(step.last_lgi()[0], 0.25) << "says only that a probe was not finite";
  EXPECT_NEAR(step.last_lgi()[1], 1, 1e-6);
}

TEST(Rounds, AreAllSkippedIfTheFirstIs) {
  StepArrays step({1.4, 1.55, 1.1, 1.3});
  step.loss = {kNotANumber};
  for (const auto& round : two_rounds(step)) step.finish(round);
  expect_skipped(step, kNotANumber, 1, 0);
}

// The caller looks at ρ and the brakes first, and sets one of its own.
TEST(SplitStep, JudgesFirstAndAppliesLater) {
  StepArrays step({1.4, 1.55});
  auto rounds = split_rounds(step);
  rounds[0].probe_seconds = 0.25;
  step.finish(rounds[0]);
  const double rho = rho_of_two((1.4 - 1.5) / 0.01, (1.55 - 1.5) / 0.01);
  auto record = step.record();
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], 2);
  EXPECT_EQ(record[kRecordSkipped], 0);
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_NEAR(record[step.lgi_at() + g], rho, 1e-14);
    EXPECT_EQ(step.last_lgi()[g], record[step.lgi_at() + g]);
  }
  EXPECT_NEAR(record[step.brakes_at()], std::exp(-2 * rho), 1e-14);
  EXPECT_NEAR(step.rules[1].applied_brake, 1 / (1 + 0.5 * rho), 1e-14);
  EXPECT_EQ(step.numbers[0].steps, 40);
  EXPECT_EQ(step.numbers[0].begun, 44);
  expect_parameters_untouched(step);

  step.rules[0].given_brake = 0.125;
  step.probed = {kNotANumber, kNotANumber};  // what is judged is judged
  step.finish(rounds[1]);
  record = step.record();
  EXPECT_EQ(record[kRecordStep], 40);
  EXPECT_EQ(record[kRecordLoss], 1.5);
  EXPECT_EQ(record[kRecordProbed], 2);
  EXPECT_EQ(record[kRecordSkipped], 0);
  EXPECT_EQ(record[kRecordNonFiniteProbes], 0);
  EXPECT_EQ(record[kRecordProbeSeconds], 0.25);
  EXPECT_EQ(record[step.differences_at()], (1.4 - 1.5) / 0.01);
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_NEAR(record[step.lgi_at() + g], rho, 1e-14);
    EXPECT_NEAR(step.last_lgi()[g], rho, 1e-14);
  }
  EXPECT_EQ(record[step.brakes_at()], 0.125);
  EXPECT_EQ(step.rules[0].applied_brake, 0.125);
  EXPECT_NEAR(record[step.brakes_at() + 1], 1 / (1 + 0.5 * rho), 1e-14);
  EXPECT_EQ(step.parameters[0].t, 1);
  EXPECT_NEAR(step.parameters[0].coefficients.step_size, 0.01 * 0.125 / (1 - 0.9), 1e-16);
  EXPECT_EQ(step.parameters[1].t, 10) << "is not trained";
  EXPECT_EQ(step.parameters[3].t, 31);
  EXPECT_EQ(step.numbers[0].steps, 41);
  EXPECT_EQ(step.numbers[0].begun, 45);
  EXPECT_EQ(step.numbers[0].skipped, 4);
}

// ρ of a non-finite probe is not kept for later steps; the update of this one still brakes by it.
TEST(SplitStep, RemembersANonFiniteProbeUntilItIsApplied) {
  StepArrays step({1.4, kInfinite});
  for (const auto& round : split_rounds(step)) step.finish(round);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordNonFiniteProbes], 1);
  EXPECT_EQ(step.numbers[0].non_finite_probes, 3);
  EXPECT_EQ(record[step.lgi_at()], 1);
  EXPECT_NEAR(record[step.brakes_at()], std::exp(-2.0), 1e-15);
  EXPECT_EQ(step.last_lgi(), (std::vector<double>{0.25, 0.75}));
}

// Nothing but the record remembers the loss when the update is asked for.
/// Those of the last ρ: whoever probes is answered, whatever comes of the step.
const std::vector<double> kLastBrakes{std::exp(-2 * 0.25), 1 / (1 + 0.5 * 0.75)};

TEST(SplitStep, IsSkippedIfItsLossWasNotFinite) {
  for (const double bad : {kNotANumber, kInfinite}) {
    StepArrays step({1.4, 1.55});
    step.loss = {bad};
    const auto rounds = split_rounds(step);
    step.finish(rounds[0]);
    EXPECT_EQ(step.numbers[0].skip, 1);
    EXPECT_EQ(step.numbers[0].begun, 44);
    EXPECT_EQ(step.numbers[0].skipped, 4) << "counted when the step ends";
    step.loss = {1.5};
    step.finish(rounds[1]);
    expect_skipped(step, bad, 1, 0, kLastBrakes);
  }
}

TEST(SplitStep, IsSkippedIfItsBaseWasNotFinite) {
  StepArrays step({1.4, 1.55});
  step.base = {kInfinite};
  const auto rounds = split_rounds(step);
  step.finish(rounds[0]);
  step.base = {1.5};
  step.finish(rounds[1]);
  expect_skipped(step, kInfinite, 1, 0, kLastBrakes);
}

// The gradient is made after the brakes are known.
TEST(SplitStep, IsSkippedIfTheGradientIsNotFinite) {
  StepArrays step({1.4, 1.55});
  const auto rounds = split_rounds(step);
  step.finish(rounds[0]);
  EXPECT_EQ(step.numbers[0].skip, 0);
  const auto judged = step.record();
  step.numbers[0].non_finite_gradient = 3;
  step.rules[0].given_brake = 0.125;
  step.finish(rounds[1]);
  expect_counted_as_skipped(step);
  const auto record = step.record();
  EXPECT_EQ(record[kRecordNonFiniteGradient], 3);
  EXPECT_EQ(record[kRecordNonFiniteLoss], 0);
  EXPECT_EQ(record[kRecordProbed], 2);
  EXPECT_EQ(record[step.lgi_at()], judged[step.lgi_at()]);
}

}  // namespace
}  // namespace sadam::kernels
