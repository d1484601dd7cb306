// The scalars of an update by the text that the GPU runs too, against Adam as its papers write it.
#include "kernels/adam_rule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sadam::kernels {
namespace {

GroupRule some_rule(BiasCorrection correction) {
  GroupRule rule;
  rule.lr = 0.02;
  rule.beta1 = 0.8;
  rule.beta2 = 0.95;
  rule.eps = 1e-3;
  rule.weight_decay = 0.1;
  rule.bias_correction = correction;
  return rule;
}

double power(double base, int exponent) {
  double product = 1;
  for (int i = 0; i < exponent; ++i) product *= base;
  return product;
}

// What the coefficients subtract from a weight without decay, for given m' and v'.
double step_of(const AdamCoefficients& c, double m, double v) {
  return c.step_size * m / (c.root_scale * std::sqrt(v) + c.eps);
}

TEST(SharedAdamRule, AdamwAddsEpsToTheCorrectedRoot) {
  for (const int t : {1, 2, 7, 100}) {
    const double m = 0.3, v = 0.04;
    const double corrected = m / (1 - power(0.8, t)) / (std::sqrt(v / (1 - power(0.95, t))) + 1e-3);
    const auto c = coefficients_at(some_rule(BiasCorrection::adamw), 0.5, t);
    EXPECT_NEAR(step_of(c, m, v), 0.5 * 0.02 * corrected, 1e-14) << t;
  }
}

TEST(SharedAdamRule, ReferenceAddsEpsToTheUncorrectedRoot) {
  for (const int t : {1, 2, 7, 100}) {
    const double m = 0.3, v = 0.04;
    const double rate = 0.02 * std::sqrt(1 - power(0.95, t)) / (1 - power(0.8, t));
    const auto c = coefficients_at(some_rule(BiasCorrection::reference), 0.5, t);
    EXPECT_NEAR(step_of(c, m, v), 0.5 * rate * m / (std::sqrt(v) + 1e-3), 1e-14) << t;
  }
}

TEST(SharedAdamRule, NoneCorrectsNothing) {
  const auto c = coefficients_at(some_rule(BiasCorrection::none), 0.5, 1);
  EXPECT_NEAR(step_of(c, 0.3, 0.04), 0.5 * 0.02 * 0.3 / (0.2 + 1e-3), 1e-16);
}

TEST(SharedAdamRule, TheBrakeReachesTheDecayOnlyIfAsked) {
  auto rule = some_rule(BiasCorrection::adamw);
  EXPECT_NEAR(coefficients_at(rule, 0.5, 3).decay, 1 - 0.02 * 0.1, 1e-16);
  rule.damp_weight_decay = true;
  EXPECT_NEAR(coefficients_at(rule, 0.5, 3).decay, 1 - 0.02 * 0.1 * 0.5, 1e-16);
}

TEST(SharedAdamRule, AveragesAreTheGroupsOwn) {
  const auto c = coefficients_at(some_rule(BiasCorrection::adamw), 0.5, 3);
  EXPECT_EQ(c.beta1, 0.8);
  EXPECT_EQ(c.beta2, 0.95);
  EXPECT_EQ(c.eps, 1e-3);
}

}  // namespace
}  // namespace sadam::kernels
