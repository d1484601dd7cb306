// Properties that hold for any differences (Proposition 4.1 and Appendix A of the paper).
#include <sadam/choices.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace sadam {
namespace {

// Differences over many orders of magnitude, signs mixed.
std::vector<double> any_differences() {
  const auto k = *rc::gen::inRange<std::size_t>(1, 17);
  return *rc::gen::container<std::vector<double>>(
      k,
      rc::gen::map(rc::gen::pair(rc::gen::inRange(-1000000, 1000001), rc::gen::inRange(-8, 9)),
                   [](const std::pair<int, int>& p) { return p.first * 1e-6 * std::pow(10.0, p.second); }));
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double x : values) sum += x * x;
  return sum / static_cast<double>(values.size());
}

RC_GTEST_PROP(LgiProperties, VarianceStaysWithinZeroAndOne, ()) {
  const auto differences = any_differences();
  const double eps = 1e-6;
  const double rho = lgi(Statistic::variance, differences, {}, eps);
  RC_ASSERT(rho >= 0);
  const bool eps_is_seen = eps > mean_square(differences) * 4 * std::numeric_limits<double>::epsilon();
  RC_ASSERT((eps_is_seen ? rho < 1 : rho <= 1));
}

RC_GTEST_PROP(LgiProperties, TheBrakeStaysAboveItsBound, ()) {
  const auto differences = any_differences();
  const double damping = *rc::gen::inRange(1, 500) / 100.0;
  const double rho = lgi(Statistic::variance, differences, {}, 1e-6);
  const double alpha = brake(Brake::exponential, damping, rho);
  RC_ASSERT(alpha <= 1);
  const bool eps_is_seen = 1e-6 > mean_square(differences) * 1e-14;
  RC_ASSERT((eps_is_seen ? alpha > std::exp(-damping) : alpha >= std::exp(-damping)));
}

RC_GTEST_PROP(LgiProperties, UnbiasedVarianceReachesAtMostKOverKMinusOne, ()) {
  const auto differences = any_differences();
  const auto k = static_cast<double>(differences.size());
  const double rho = lgi(Statistic::unbiased_variance, differences, {}, 1e-6);
  RC_ASSERT(rho >= 0);
  RC_ASSERT((k == 1 ? rho == 0 : rho <= k / (k - 1)));
}

RC_GTEST_PROP(LgiProperties, ResidualStaysWithinZeroAndOne, ()) {
  const auto differences = any_differences();
  const auto slopes = *rc::gen::container<std::vector<double>>(
      differences.size(), rc::gen::map(rc::gen::inRange(-1000, 1001), [](int x) { return x * 0.01; }));
  const double rho = lgi(Statistic::residual, differences, slopes, 1e-6);
  RC_ASSERT(rho >= 0);
  RC_ASSERT(rho <= 1);
}

RC_GTEST_PROP(LgiProperties, TheOrderOfTheProbesDoesNotMatter, ()) {
  auto differences = any_differences();
  std::vector<double> slopes(differences.size());
  std::mt19937 random(*rc::gen::arbitrary<unsigned>());
  for (auto& slope : slopes) slope = std::normal_distribution<double>()(random);
  for (auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    const double rho = lgi(statistic, differences, slopes, 1e-6);
    std::vector<std::size_t> order(differences.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> shuffled_differences;
    std::vector<double> shuffled_slopes;
    for (auto i : order) {
      shuffled_differences.push_back(differences[i]);
      shuffled_slopes.push_back(slopes[i]);
    }
    RC_ASSERT(std::abs(rho - lgi(statistic, shuffled_differences, shuffled_slopes, 1e-6)) <= 1e-12);
  }
}

}  // namespace
}  // namespace sadam
