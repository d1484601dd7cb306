#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/every_target.h"

namespace sadam::kernels {
namespace {

double plain_soft(double x, double threshold) {
  const double magnitude = std::abs(x) - threshold;
  return magnitude > 0 ? std::copysign(magnitude, x) : 0.0;
}

GroupRule plain_rule(double momentum, double lr, double l1) {
  GroupRule rule;
  rule.momentum = momentum;
  rule.lr = lr;
  rule.l1 = l1;
  return rule;
}

template <class T>
struct ProxState {
  std::vector<T> w, buffer;
  bool operator==(const ProxState&) const = default;
};

template <class T>
ProxState<T> updated(const ProxState<T>& state, const std::vector<T>& gradient,
                     const std::vector<std::int64_t>& cuts, int threads) {
  Unaligned<T> w(state.w), buffer(state.buffer), g(gradient);
  const auto rule = plain_rule(0.9, 0.125, 2);  // the threshold is 0.25
  ProxSgdUpdate<T> launch;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const auto at = cuts[k];
    launch.segments.push_back({w.data() + at, buffer.data() + at, g.data() + at, cuts[k + 1] - at, &rule});
  }
  cpu_kernels().of<T>().prox_sgd_update(launch);
  EXPECT_EQ(g.values(), gradient);
  return {w.values(), buffer.values()};
}

class ProxSgdOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(ProxSgdOnEveryTarget);

template <class T>
void expect_plain_prox_update(double tolerance) {
  for (const auto count : awkward_sizes()) {
    const ProxState<T> before = {random_values<T>(count, 1), random_values<T>(count, 2)};
    const auto g = random_values<T>(count, 3);
    const auto after = updated(before, g, {0, count}, 2);
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double buffer = 0.9 * before.buffer[i] + g[i];
      SADAM_ASSERT_NEAR(after.buffer[i], buffer, tolerance) << i << " of " << count;
      SADAM_ASSERT_NEAR(after.w[i], plain_soft(before.w[i] - 0.125 * buffer, 0.25), tolerance)
          << i << " of " << count;
    }
  }
}

TEST_P(ProxSgdOnEveryTarget, UpdatesAsThePlainFormulaInFloat) { expect_plain_prox_update<float>(1e-6); }
TEST_P(ProxSgdOnEveryTarget, UpdatesAsThePlainFormulaInDouble) { expect_plain_prox_update<double>(2e-15); }

TEST_P(ProxSgdOnEveryTarget, HasTheSameBitsForAnySplitAndAnyThreads) {
  std::mt19937 engine(5);
  const std::int64_t count = 150001;
  const ProxState<float> before = {random_values<float>(count, 1), random_values<float>(count, 2)};
  const auto g = random_values<float>(count, 3);
  const auto whole = updated(before, g, {0, count}, 1);
  for (const int threads : {1, 2, 3}) {
    EXPECT_TRUE(updated(before, g, random_cuts(count, 12, engine), threads) == whole);
  }
}

/// What the threshold 0.25 makes of w, with no momentum and no gradient.
template <class T>
T shrunk(T w) {
  T buffer = 0;
  const T gradient = 0;
  const auto rule = plain_rule(0, 0.5, 0.5);
  ProxSgdUpdate<T> launch;
  launch.segments = {{&w, &buffer, &gradient, 1, &rule}};
  cpu_kernels().of<T>().prox_sgd_update(launch);
  return w;
}

template <class T>
void expect_exact_threshold() {
  const T threshold = T{0.25};
  const T above = std::nextafter(threshold, T{1});
  const T below = std::nextafter(threshold, T{0});
  for (const T sign : {T{1}, T{-1}}) {
    EXPECT_EQ(shrunk(sign * threshold), T{0});
    EXPECT_EQ(shrunk(sign * below), T{0});
    EXPECT_EQ(shrunk(sign * above), sign * (above - threshold));
    EXPECT_EQ(shrunk(sign * T{1}), sign * T{0.75});
    EXPECT_EQ(shrunk(sign * T{0}), T{0});
    EXPECT_FALSE(std::signbit(shrunk(sign * T{0})));
    EXPECT_FALSE(std::signbit(shrunk(sign * threshold)));
    EXPECT_EQ(shrunk(sign * std::numeric_limits<T>::denorm_min()), T{0});
    EXPECT_EQ(shrunk(sign * std::numeric_limits<T>::infinity()), sign * std::numeric_limits<T>::infinity());
  }
}

TEST_P(ProxSgdOnEveryTarget, ThresholdIsExact) {
  expect_exact_threshold<float>();
  expect_exact_threshold<double>();
}

TEST_P(ProxSgdOnEveryTarget, LeavesEverythingWhereTheStepIsSkipped) {
  for (const std::int64_t skip : {0, 1}) {
    const ProxState<double> before = {random_values<double>(129, 1), random_values<double>(129, 2)};
    auto after = before;
    const auto g = random_values<double>(129, 3);
    const auto rule = plain_rule(0.9, 0.125, 2);
    ProxSgdUpdate<double> launch;
    launch.segments = {{after.w.data(), after.buffer.data(), g.data(), 129, &rule}};
    launch.skip = &skip;
    cpu_kernels().of_double.prox_sgd_update(launch);
    EXPECT_EQ(after == before, skip == 1);
  }
}

TEST_P(ProxSgdOnEveryTarget, DoesNotHideANaN) {
  EXPECT_TRUE(std::isnan(shrunk(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(shrunk(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace sadam::kernels
