// The way uphill, against the formula written out in double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/every_target.h"

namespace sadam::kernels {
namespace {

template <class T>
struct Uphill {
  std::vector<T> w, g;
  explicit Uphill(std::int64_t count) : w(random_values<T>(count, 1)), g(random_values<T>(count, 2)) {}
};

double stretch_of(double w, bool adaptive) { return adaptive ? std::abs(w) + 0.01 : 1; }

template <class T>
double squared_length_of(const Uphill<T>& at, bool adaptive, int threads = 2, double start = 0) {
  Unaligned<T> w(at.w), g(at.g);
  Ascent<T> launch;
  launch.segments = {{nullptr, w.data(), g.data(), static_cast<std::int64_t>(at.w.size())}};
  launch.adaptive = adaptive;
  launch.squared_length = &start;
  launch.place.threads = threads;
  cpu_kernels().of<T>().ascent_length(launch);
  return start;
}

template <class T>
std::vector<T> moved(const Uphill<T>& at, bool adaptive, double radius, double squared_length) {
  Unaligned<T> w(at.w), g(at.g), out(std::vector<T>(at.w.size(), T{99}));
  Ascent<T> launch;
  launch.segments = {{out.data(), w.data(), g.data(), static_cast<std::int64_t>(at.w.size())}};
  launch.adaptive = adaptive;
  launch.radius = radius;
  launch.squared_length = &squared_length;
  launch.place.threads = 2;
  cpu_kernels().of<T>().ascend(launch);
  EXPECT_TRUE(w.values() == at.w && g.values() == at.g);
  return out.values();
}

class AscentOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(AscentOnEveryTarget);

template <class T>
void expect_plain_ascent(double relative) {
  for (const bool adaptive : {false, true})
    for (const auto count : awkward_sizes()) {
      const Uphill<T> at(count);
      long double squared = 0;
      for (std::size_t i = 0; i < at.w.size(); ++i) {
        const double value = stretch_of(at.w[i], adaptive) * at.g[i];
        squared += static_cast<long double>(value) * value;
      }
      const auto want = static_cast<double>(squared);
      EXPECT_NEAR(squared_length_of(at, adaptive), want, relative * want) << count;
      EXPECT_NEAR(squared_length_of(at, adaptive, 1, 3), 3 + want, relative * (3 + want)) << "it adds";
      const auto out = moved(at, adaptive, 0.7, want);
      for (std::size_t i = 0; i < at.w.size(); ++i) {
        const double t = stretch_of(at.w[i], adaptive);
        const double there = at.w[i] + 0.7 * t * t * at.g[i] / std::sqrt(want);
        ASSERT_NEAR(out[i], there, relative * (1 + std::abs(there))) << i << " of " << count;
      }
    }
}

TEST_P(AscentOnEveryTarget, MovesAsThePlainFormulaInFloat) { expect_plain_ascent<float>(4e-7); }
TEST_P(AscentOnEveryTarget, MovesAsThePlainFormulaInDouble) { expect_plain_ascent<double>(2e-15); }

TEST_P(AscentOnEveryTarget, LengthHasTheSameBitsForAnyThreads) {
  const Uphill<float> at(150001);
  for (const int threads : {2, 3})
    EXPECT_EQ(squared_length_of(at, true, 1), squared_length_of(at, true, threads));
}

TEST_P(AscentOnEveryTarget, StaysWhereThereIsNoWayUphill) {
  Uphill<double> at(35);
  at.g.assign(35, 0);
  EXPECT_EQ(0, squared_length_of(at, true));
  EXPECT_EQ(at.w, moved(at, true, 0.7, 0));
}

}  // namespace
}  // namespace sadam::kernels
