#include <sadam/choices.h>
#include <sadam/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sadam {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Statistic, VarianceIsThePapersFormula) {
  // D = (1, 3): mean 2, variance 1, mean square 5.
  EXPECT_DOUBLE_EQ(1.0 / 5.5, lgi(Statistic::variance, {1, 3}, {}, 0.5));
  EXPECT_DOUBLE_EQ(2.0 / 5.5, lgi(Statistic::unbiased_variance, {1, 3}, {}, 0.5));
}

TEST(Statistic, OneProbeHasNoVariance) {
  EXPECT_EQ(0, lgi(Statistic::variance, {3.7}, {}, 1e-6));
  EXPECT_EQ(0, lgi(Statistic::unbiased_variance, {3.7}, {}, 1e-6));
}

TEST(Statistic, ResidualIsTheUnexplainedShare) {
  // R = (1, -1), slopes (2, 1): 1 / (1 + 2.5 + ε).
  EXPECT_DOUBLE_EQ(1.0 / 4.0, lgi(Statistic::residual, {3, 0}, {2, 1}, 0.5));
  EXPECT_EQ(0, lgi(Statistic::residual, {3, 0}, {3, 0}, 1e-6));
}

TEST(Statistic, NoChangeAtAllIsNoInstability) {
  for (auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual})
    EXPECT_EQ(0, lgi(statistic, {0, 0}, {0, 0}, 0));
}

TEST(Statistic, ANonFiniteProbeGivesTheLargestValue) {
  for (double bad : {kNaN, kInf, -kInf}) {
    EXPECT_EQ(1, lgi(Statistic::variance, {1, bad}, {}, 1e-6));
    EXPECT_EQ(2, lgi(Statistic::unbiased_variance, {1, bad}, {}, 1e-6));
    EXPECT_DOUBLE_EQ(8.0 / 7, lgi(Statistic::unbiased_variance, {1, 1, 1, 1, 1, 1, 1, bad}, {}, 1e-6));
    EXPECT_EQ(1, lgi(Statistic::residual, {1, bad}, {1, 1}, 1e-6));
    EXPECT_EQ(1, step_lgi(bad, 1));
  }
}

TEST(Statistic, HugeAndTinyDifferencesDoNotOverflow) {
  EXPECT_DOUBLE_EQ(0.2, lgi(Statistic::variance, {1e200, 3e200}, {}, 1e-6));
  EXPECT_DOUBLE_EQ(0.2, lgi(Statistic::variance, {1e-200, 3e-200}, {}, 0));
  EXPECT_LT(lgi(Statistic::variance, {1e-200, 3e-200}, {}, 1e-6), 1e-300);
  EXPECT_DOUBLE_EQ(0.2, lgi(Statistic::residual, {3e200, 1e200}, {2e200, 2e200}, 0));
}

TEST(Statistic, AlongTheStepItIsTheShareOfTheResidual) {
  EXPECT_NEAR(0.25, step_lgi(-4, -3), 1e-12);  // R = −1 against a slope of −3
  EXPECT_NEAR(1, step_lgi(0.5, 0), 1e-11);     // nothing was promised, something came
  EXPECT_EQ(0, step_lgi(0, 0));                // a step of length 0
}

TEST(Statistic, RefusesNoDifferencesAndMissingSlopes) {
  EXPECT_THROW(lgi(Statistic::variance, {}, {}, 1e-6), Error);
  EXPECT_THROW(lgi(Statistic::residual, {1, 2}, {1}, 1e-6), Error);
}

TEST(Brake, TakesItsTwoForms) {
  EXPECT_DOUBLE_EQ(std::exp(-1.0), brake(Brake::exponential, 2, 0.5));
  EXPECT_DOUBLE_EQ(0.5, brake(Brake::proximal, 2, 0.5));
  for (auto form : {Brake::exponential, Brake::proximal}) {
    EXPECT_EQ(1, brake(form, 0, 0.7));
    EXPECT_EQ(1, brake(form, 2, 0));
  }
}

}  // namespace
}  // namespace sadam
