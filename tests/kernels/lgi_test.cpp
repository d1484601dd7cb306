// ρ and the brake by the text that the GPU runs too, against the formulas as the paper writes them.
#include "kernels/lgi.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace sadam::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double rho(Statistic statistic, const std::vector<double>& d, const std::vector<double>& s = {},
           double eps = 1e-6) {
  return lgi_of(statistic, {d.data(), s.data(), static_cast<std::int64_t>(d.size())}, eps);
}

double mean_of_squares(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum / static_cast<double>(x.size());
}

TEST(SharedLgi, VarianceIsTheMeanSquareLessTheSquaredMeanOverTheMeanSquare) {
  const std::vector<double> d = {0.5, -1.25, 2, 0.75};
  const double mean = (0.5 - 1.25 + 2 + 0.75) / 4;
  const double variance = mean_of_squares(d) - mean * mean;
  EXPECT_NEAR(rho(Statistic::variance, d), variance / (mean_of_squares(d) + 1e-6), 1e-14);
  EXPECT_NEAR(rho(Statistic::unbiased_variance, d), variance * 4 / 3 / (mean_of_squares(d) + 1e-6), 1e-14);
}

TEST(SharedLgi, ResidualIsTheShareThatTheSlopesDoNotExplain) {
  const std::vector<double> d = {0.5, -1.25, 2}, s = {0.25, -1.5, 3};
  const double residual = (0.0625 + 0.0625 + 1) / 3;
  const double explained = (0.0625 + 2.25 + 9) / 3;
  EXPECT_NEAR(rho(Statistic::residual, d, s, 0.5), residual / (residual + explained + 0.5), 1e-14);
  EXPECT_EQ(rho(Statistic::residual, d, d), 0);
}

TEST(SharedLgi, OneProbeHasNoVariance) {
  EXPECT_EQ(rho(Statistic::variance, {3}), 0);
  EXPECT_EQ(rho(Statistic::unbiased_variance, {3}), 0);
}

TEST(SharedLgi, OfNoChangeAtAllIsZero) {
  for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual})
    EXPECT_EQ(rho(statistic, {0, 0}, {0, 0}, 0), 0);
}

TEST(SharedLgi, OfSomethingNotFiniteIsTheLargest) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(rho(Statistic::variance, {1, bad, 2}), 1);
    EXPECT_EQ(rho(Statistic::unbiased_variance, {1, bad, 2}), 1.5);
    EXPECT_EQ(rho(Statistic::unbiased_variance, {bad}), 1);
    EXPECT_NEAR(rho(Statistic::unbiased_variance, {1, 1, 1, 1, 1, 1, 1, bad}), 8.0 / 7, 1e-15);
    EXPECT_EQ(rho(Statistic::residual, {1, bad}, {1, 1}), 1);
    EXPECT_EQ(rho(Statistic::residual, {1, 1}, {1, bad}), 1);
    EXPECT_EQ(rho(Statistic::variance, {1, -1}, {bad, bad}, 0), 1) << "slopes are the residual's alone";
  }
}

// Squares of such differences leave the range of a double.
TEST(SharedLgi, DoesNotDependOnTheUnitOfTheLoss) {
  const std::vector<double> d = {3, -1, 2}, s = {1, 2, 2};
  for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    const double want = rho(statistic, d, s, 0);
    for (const double unit : {0x1p-600, 0x1p600}) {
      const std::vector<double> scaled = {3 * unit, -unit, 2 * unit}, slopes = {unit, 2 * unit, 2 * unit};
      EXPECT_NEAR(rho(statistic, scaled, slopes, 0), want, 1e-15) << unit;
    }
  }
  EXPECT_LT(rho(Statistic::variance, {1e-200, 3e-200}), 1e-300) << "beside ε it is nothing";
}

TEST(SharedLgi, AlongTheStepComparesTheChangeWithTheSlope) {
  EXPECT_NEAR(step_lgi_of(-0.25, -1), 0.75 / 1.75, 1e-12);
  EXPECT_EQ(step_lgi_of(-1, -1), 0);
  EXPECT_NEAR(step_lgi_of(0.5, 0), 1, 1e-11) << "nothing was promised, something came";
  EXPECT_EQ(step_lgi_of(0, 0), 0) << "a step of length 0";
  for (const double bad : {kNan, kInfinity}) {
    EXPECT_EQ(step_lgi_of(bad, -1), 1);
    EXPECT_EQ(step_lgi_of(-1, bad), 1);
  }
}

TEST(SharedLgi, BrakesAsTheirFormulas) {
  EXPECT_NEAR(brake_of(Brake::exponential, 2, 0.75), std::exp(-1.5), 1e-16);
  EXPECT_NEAR(brake_of(Brake::proximal, 2, 0.75), 0.4, 1e-16);
  for (const auto form : {Brake::exponential, Brake::proximal, Brake::held}) {
    EXPECT_EQ(brake_of(form, 0, 0.75), 1);
    EXPECT_EQ(brake_of(form, 2, 0), 1);
  }
}

TEST(SharedLgi, TheHeldBrakeFollowsFromTheLastOne) {
  EXPECT_NEAR(brake_of(Brake::held, 2, 0.75, {0.4, 0.5, 1}), 0.4 * std::exp(-0.5), 1e-16);
  EXPECT_NEAR(brake_of(Brake::held, 2, 0.3, {0.4, 0.5, 1}), 0.4 * std::exp(0.4), 1e-16);
  EXPECT_EQ(brake_of(Brake::held, 2, 0.3, {0.9, 0.5, 1}), 1) << "its ceiling";
  EXPECT_NEAR(brake_of(Brake::held, 2, 0.3, {0.9, 0.5, 8}), 0.9 * std::exp(0.4), 1e-15);
  EXPECT_EQ(brake_of(Brake::held, 9, 1, {0.01, 0.5, 1}), 1e-3) << "it never vanishes";
}

}  // namespace
}  // namespace sadam::kernels
