// The fused update and the probe along its step, against the formula written out in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/every_target.h"

namespace sadam::kernels {
namespace {

AdamCoefficients coefficients() {
  AdamCoefficients c;
  c.beta1 = 0.9;
  c.beta2 = 0.999;
  c.eps = 1e-8;
  c.root_scale = 1 / std::sqrt(1 - std::pow(c.beta2, 3));
  c.step_size = 0.01 / (1 - std::pow(c.beta1, 3)) * 0.7;
  c.decay = 1 - 0.01 * 0.05;
  return c;
}

struct Element {
  double w, m, v, step;
};
Element plain_adam(const AdamCoefficients& c, double w, double m, double v, double g) {
  const double next_m = c.beta1 * m + (1 - c.beta1) * g;
  const double next_v = c.beta2 * v + (1 - c.beta2) * g * g;
  const double step = c.step_size * next_m / (c.root_scale * std::sqrt(next_v) + c.eps);
  return {c.decay * w - step, next_m, next_v, step};
}

template <class T>
struct State {
  std::vector<T> w, m, v, g;
  explicit State(std::int64_t count)
      : w(random_values<T>(count, 1)),
        m(random_values<T>(count, 2, -0.1, 0.1)),
        v(random_values<T>(count, 3, 1e-6, 0.1)),
        g(random_values<T>(count, 4)) {}
  bool operator==(const State&) const = default;
};

template <class T>
State<T> updated(State<T> state, const std::vector<std::int64_t>& cuts, int threads) {
  Unaligned<T> w(state.w), m(state.m), v(state.v), g(state.g);
  const auto c = coefficients();
  AdamUpdate<T> launch;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const auto at = cuts[k];
    launch.segments.push_back(
        {w.data() + at, m.data() + at, v.data() + at, g.data() + at, cuts[k + 1] - at, &c});
  }
  cpu_kernels().of<T>().adam_update(launch);
  EXPECT_EQ(g.values(), state.g);
  state.w = w.values();
  state.m = m.values();
  state.v = v.values();
  return state;
}

class AdamOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(AdamOnEveryTarget);

template <class T>
void expect_bounded_update(double relative) {
  auto c = coefficients();
  c.lower_bound = 0.05;
  c.upper_bound = 0.2;
  for (const auto count : awkward_sizes()) {
    const State<T> before(count);
    auto after = before;
    AdamUpdate<T> launch;
    launch.segments = {{after.w.data(), after.m.data(), after.v.data(), after.g.data(), count, &c}};
    cpu_kernels().of<T>().adam_update(launch);
    for (std::size_t i = 0; i < before.w.size(); ++i) {
      const auto next = plain_adam(c, before.w[i], before.m[i], before.v[i], before.g[i]);
      const double size = c.step_size / (c.root_scale * std::sqrt(next.v) + c.eps);
      const double want = c.decay * before.w[i] - std::clamp(size, c.lower_bound, c.upper_bound) * next.m;
      SADAM_ASSERT_NEAR(after.w[i], want, relative * std::max(1.0, std::abs(want))) << i << " of " << count;
      SADAM_ASSERT_NEAR(after.m[i], next.m, relative * (0.1 + std::abs(next.m))) << i << " of " << count;
    }
  }
}

TEST_P(AdamOnEveryTarget, KeepsStepSizesWithinTheirBounds) {
  expect_bounded_update<float>(4e-7);
  expect_bounded_update<double>(1e-15);
}

template <class T>
void expect_plain_update(double relative) {
  for (const auto count : awkward_sizes()) {
    const State<T> before(count);
    const auto after = updated(before, {0, count}, 2);
    for (std::size_t i = 0; i < before.w.size(); ++i) {
      const auto want = plain_adam(coefficients(), before.w[i], before.m[i], before.v[i], before.g[i]);
      SADAM_ASSERT_NEAR(after.w[i], want.w, relative * std::max(1.0, std::abs(want.w)))
          << i << " of " << count;
      SADAM_ASSERT_NEAR(after.m[i], want.m, relative * (0.1 + std::abs(want.m))) << i << " of " << count;
      SADAM_ASSERT_NEAR(after.v[i], want.v, relative * std::abs(want.v)) << i << " of " << count;
    }
  }
}

TEST_P(AdamOnEveryTarget, UpdatesAsThePlainFormulaInFloat) { expect_plain_update<float>(4e-7); }
TEST_P(AdamOnEveryTarget, UpdatesAsThePlainFormulaInDouble) { expect_plain_update<double>(1e-15); }

TEST_P(AdamOnEveryTarget, HasTheSameBitsForAnySplitAndAnyThreads) {
  std::mt19937 engine(5);
  const std::int64_t count = 150001;
  const State<float> before(count);
  const auto whole = updated(before, {0, count}, 1);
  for (const int threads : {1, 2, 3}) {
    EXPECT_TRUE(updated(before, random_cuts(count, 12, engine), threads) == whole);
  }
}

// In float, 1 − 0.999f differs from 0.001f by 5e-5 of it; over many steps that would be seen.
TEST_P(AdamOnEveryTarget, FormsOneMinusBetaInDouble) {
  float w = 0, m = 0, v = 0;
  const float g = 1;
  const auto c = coefficients();
  AdamUpdate<float> launch;
  launch.segments = {{&w, &m, &v, &g, 1, &c}};
  cpu_kernels().of_float.adam_update(launch);
  EXPECT_EQ(v, 0.001f);
  EXPECT_EQ(m, 0.1f);
}

template <class T>
double probed(const State<T>& state, Unaligned<T>& out, const std::vector<std::int64_t>& cuts, int threads,
              const AdamCoefficients& c = coefficients(), double slope = 0) {
  Unaligned<T> w(state.w), m(state.m), v(state.v), g(state.g);
  AdamProbe<T> launch;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const auto at = cuts[k];
    launch.segments.push_back(
        {out.data() + at, w.data() + at, m.data() + at, v.data() + at, g.data() + at, cuts[k + 1] - at, &c});
  }
  launch.slope = &slope;
  cpu_kernels().of<T>().adam_probe(launch);
  EXPECT_TRUE(w.values() == state.w && m.values() == state.m && v.values() == state.v &&
              g.values() == state.g);
  return slope;
}

template <class T>
void expect_plain_probe(double relative) {
  for (const auto count : awkward_sizes()) {
    const State<T> state(count);
    Unaligned<T> out(std::vector<T>(static_cast<std::size_t>(count), T{99}));
    const double slope = probed(state, out, {0, count}, 2);
    const auto values = out.values();
    long double want_slope = 0;  // a plain sum in double would round more than the kernel does
    double magnitude = 0;
    for (std::size_t i = 0; i < state.w.size(); ++i) {
      const double g = state.g[i];
      const double step = plain_adam(coefficients(), 0, state.m[i], state.v[i], g).step;
      SADAM_ASSERT_NEAR(values[i], static_cast<double>(state.w[i]) - step, relative * 2.5)
          << i << " of " << count;
      want_slope -= g * step;
      magnitude += std::abs(g * step);
    }
    EXPECT_NEAR(slope, static_cast<double>(want_slope), relative * magnitude) << count;
  }
}

TEST_P(AdamOnEveryTarget, ProbesAlongItsOwnStepInFloat) { expect_plain_probe<float>(4e-7); }
TEST_P(AdamOnEveryTarget, ProbesAlongItsOwnStepInDouble) { expect_plain_probe<double>(1e-15); }

TEST_P(AdamOnEveryTarget, ProbeHasTheSameBitsForAnyThreads) {
  const State<float> state(150001);
  const std::vector<std::int64_t> cuts = {0, 17, 60000, 150001};
  Unaligned<float> one(state.w), other(state.w);
  const double slope = probed(state, one, cuts, 1);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(probed(state, other, cuts, threads), slope);
    EXPECT_EQ(other.values(), one.values());
  }
}

// Without ε the padding of a last partial vector would divide 0 by 0.
TEST_P(AdamOnEveryTarget, ProbeSumsOnlyItsOwnElements) {
  auto c = coefficients();
  c.eps = 0;
  for (const std::int64_t count : {1, 3, 17}) {
    const State<float> state(count);
    Unaligned<float> out(state.w);
    EXPECT_TRUE(std::isfinite(probed(state, out, {0, count}, 1, c))) << count;
  }
}

TEST_P(AdamOnEveryTarget, ProbeAddsToTheSlope) {
  const State<float> state(1000);
  Unaligned<float> out(state.w);
  const double slope = probed(state, out, {0, 1000}, 1);
  EXPECT_EQ(probed(state, out, {0, 1000}, 1, coefficients(), 3.0), 3.0 + slope);
}

TEST_P(AdamOnEveryTarget, LeavesEverythingWhereTheStepIsSkipped) {
  const auto c = coefficients();
  for (const std::int64_t skip : {0, 1}) {
    const State<float> before(129);
    auto after = before;
    AdamUpdate<float> launch;
    launch.segments = {{after.w.data(), after.m.data(), after.v.data(), after.g.data(), 129, &c}};
    launch.skip = &skip;
    cpu_kernels().of_float.adam_update(launch);
    EXPECT_EQ(after == before, skip == 1);
  }
}

// The probe looks at the point the update then goes to.
TEST_P(AdamOnEveryTarget, ProbeEndsWhereAnUpdateWithoutDecayEnds) {
  State<double> state(1000);
  Unaligned<double> out(state.w);
  auto c = coefficients();
  c.decay = 1;
  probed(state, out, {0, 1000}, 1, c);
  AdamUpdate<double> launch;
  launch.segments = {{state.w.data(), state.m.data(), state.v.data(), state.g.data(), 1000, &c}};
  cpu_kernels().of_double.adam_update(launch);
  EXPECT_EQ(out.values(), state.w);
}

}  // namespace
}  // namespace sadam::kernels
