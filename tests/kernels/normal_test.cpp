// The normals as numbers (against the C library) and as random variables.
#include "kernels/normal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/direction.h"
#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

const double kPi = std::acos(-1.0);

template <class T>
double ulps(T got, double want) {
  const auto magnitude = static_cast<T>(std::abs(want));
  const T ulp = std::nextafter(magnitude, std::numeric_limits<T>::infinity()) - magnitude;
  return std::abs(static_cast<double>(got) - want) / static_cast<double>(ulp);
}

template <class T>
void expect_accurate(double most_ulps) {
  using M = ScalarMath<T>;
  for (int i = 0; i <= 20000; ++i) {
    const float t = static_cast<float>(i) / 20000;
    EXPECT_LE(ulps<T>(sin_eighth_turn<M>(T{t}), std::sin(kPi / 4 * t)), most_ulps) << t;
    EXPECT_LE(ulps<T>(cos_eighth_turn<M>(T{t}), std::cos(kPi / 4 * t)), most_ulps) << t;
  }
  const auto check_radius = [&](float u) {
    EXPECT_LE(ulps<T>(normal_radius<M>(u), std::sqrt(-2 * std::log(static_cast<double>(u)))), most_ulps) << u;
  };
  for (float u = 0x1p-32f; u <= 1; u *= 1.0009765625f) check_radius(u);
  for (int i = 1; i < 5000; ++i) check_radius(1 - static_cast<float>(i) * 0x1p-24f);  // where ln u is near 0
  EXPECT_EQ(normal_radius<M>(1.0f), T{0});
}

TEST(NormalFormula, IsAccurateInFloat) { expect_accurate<float>(2); }
TEST(NormalFormula, IsAccurateInDouble) { expect_accurate<double>(4); }

TEST(NormalFormula, CoversTheWholeRangeOfWords) {
  using F = ScalarMath<float>;
  EXPECT_EQ(radius_uniform<F>(0u), 0x1p-32f);
  EXPECT_EQ(radius_uniform<F>(0xffffffffu), 1.0f);
  for (const auto radius_word : {0u, 1u, 0x80000000u, 0xffffffffu}) {
    for (const auto angle_word : {0u, 7u, 0x80000000u, 0xffffffffu}) {
      const auto pair = normal_pair<F>(radius_word, angle_word);
      EXPECT_TRUE(std::isfinite(pair.z0) && std::isfinite(pair.z1));
      EXPECT_LE(std::hypot(pair.z0, pair.z1), 6.67f);  // √(2·32 ln 2)
    }
  }
}

class NormalSample : public EveryTarget {
 protected:
  static constexpr std::int64_t kCount = 1 << 19;
  const std::vector<float>& z_ = sample();

 private:
  // Made once for each instruction set.
  static const std::vector<float>& sample() {
    static std::map<std::int64_t, std::vector<float>> samples;
    auto& of_target = samples[GetParam()];
    if (of_target.empty()) of_target = generated<float>({11, 22, 0}, Distribution::normal, 0, kCount);
    return of_target;
  }
};
SADAM_FOR_EVERY_TARGET(NormalSample);

// Tolerances are 4.5 standard errors of the statistic under N(0, 1). The sample is fixed, so this cannot
// flicker.
TEST_P(NormalSample, HasTheMomentsOfAStandardNormal) {
  double sums[5] = {};
  for (const double z : z_) {
    double power = 1;
    for (int p = 1; p <= 4; ++p) sums[p] += power *= z;
  }
  const double n = kCount;
  EXPECT_NEAR(sums[1] / n, 0, 4.5 / std::sqrt(n));
  EXPECT_NEAR(sums[2] / n, 1, 4.5 * std::sqrt(2 / n));
  EXPECT_NEAR(sums[3] / n, 0, 4.5 * std::sqrt(15 / n));
  EXPECT_NEAR(sums[4] / n, 3, 4.5 * std::sqrt(96 / n));
}

// 1: neighbours. 16: the two of a Box–Muller pair. 32: the two pairs of a block. 64: the same lane of the
// next tile.
TEST_P(NormalSample, HasNoCorrelationAtTheDistancesOfItsConstruction) {
  for (const std::size_t distance : {1, 2, 8, 16, 32, 48, 64}) {
    double values = 0, squares = 0;
    const std::size_t n = z_.size() - distance;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = z_[i], b = z_[i + distance];
      values += a * b;
      squares += (a * a - 1) * (b * b - 1);
    }
    const auto count = static_cast<double>(n);
    EXPECT_NEAR(values / count, 0, 4.5 / std::sqrt(count)) << distance;
    EXPECT_NEAR(squares / count, 0, 4.5 * 2 / std::sqrt(count)) << distance;
  }
}

// Kolmogorov–Smirnov: √n·sup|F_n − Φ| exceeds 2.2 with probability 1e-4.
TEST_P(NormalSample, HasTheDistributionFunctionOfAStandardNormal) {
  auto sorted = z_;
  std::sort(sorted.begin(), sorted.end());
  double distance = 0;
  const double n = kCount;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double phi = 0.5 * std::erfc(-static_cast<double>(sorted[i]) / std::sqrt(2.0));
    distance = std::max({distance, std::abs(phi - static_cast<double>(i) / n),
                         std::abs(phi - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(distance * std::sqrt(n), 2.2);
}

TEST_P(NormalSample, HasTheTailsOfAStandardNormal) {
  for (const double limit : {3.0, 3.5, 4.0}) {
    double above = 0, below = 0;
    for (const double z : z_) {
      above += z > limit;
      below += z < -limit;
    }
    const double expected = kCount * 0.5 * std::erfc(limit / std::sqrt(2.0));
    EXPECT_NEAR(above, expected, 4.5 * std::sqrt(expected)) << limit;
    EXPECT_NEAR(below, expected, 4.5 * std::sqrt(expected)) << limit;
  }
}

TEST_P(NormalSample, IsTheDoubleDirectionToFloatRounding) {
  const auto wide = generated<double>({11, 22, 0}, Distribution::normal, 0, 100000);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    SADAM_ASSERT_NEAR(static_cast<double>(z_[i]), wide[i], 4 * 0x1p-23 * std::abs(wide[i])) << i;
  }
}

class RademacherSample : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(RademacherSample);

TEST_P(RademacherSample, IsBalancedAndUncorrelated) {
  const auto z = generated<float>({11, 22, 0}, Distribution::rademacher, 0, 1 << 20);
  for (const std::size_t distance : {0, 1, 16, 32, 64, 128, 2048}) {
    double sum = 0;
    const std::size_t n = z.size() - distance;
    for (std::size_t i = 0; i < n; ++i) sum += distance == 0 ? z[i] : z[i] * z[i + distance];
    EXPECT_NEAR(sum, 0, 4.5 * std::sqrt(static_cast<double>(n))) << distance;
  }
}

}  // namespace
}  // namespace sadam::kernels
