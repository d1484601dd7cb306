// The public functions are those of the kernels, whose values tests/kernels/lgi_test.cpp checks.
#include <sadam/choices.h>
#include <sadam/error.h>

#include <gtest/gtest.h>

#include <cmath>

namespace sadam {
namespace {

TEST(Statistic, IsThatOfTheDifferencesAndSlopesGiven) {
  // D = (1, 3): mean 2, variance 1, mean square 5.
  EXPECT_DOUBLE_EQ(1.0 / 5.5, lgi(Statistic::variance, {1, 3}, {}, 0.5));
  EXPECT_DOUBLE_EQ(2.0 / 5.5, lgi(Statistic::unbiased_variance, {1, 3}, {}, 0.5));
  // R = (1, -1), slopes (2, 1): 1 / (1 + 2.5 + ε).
  EXPECT_DOUBLE_EQ(1.0 / 4.0, lgi(Statistic::residual, {3, 0}, {2, 1}, 0.5));
  EXPECT_NEAR(0.25, step_lgi(-4, -3), 1e-12);  // R = −1 against a slope of −3
}

TEST(Statistic, RefusesNoDifferencesAndMissingSlopes) {
  EXPECT_THROW(lgi(Statistic::variance, {}, {}, 1e-6), Error);
  EXPECT_THROW(lgi(Statistic::residual, {1, 2}, {1}, 1e-6), Error);
}

TEST(Brake, TakesItsTwoForms) {
  EXPECT_DOUBLE_EQ(std::exp(-1.0), brake(Brake::exponential, 2, 0.5));
  EXPECT_DOUBLE_EQ(0.5, brake(Brake::proximal, 2, 0.5));
}

}  // namespace
}  // namespace sadam
