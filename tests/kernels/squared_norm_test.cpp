#include <gtest/gtest.h>

#include <cmath>

#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

const DirectionKey kNormKey = {77, 66, 55};

double norm_of(std::uint64_t first, std::int64_t count, int threads = 1) {
  SquaredNorm launch;
  launch.key = kNormKey;
  launch.first = first;
  launch.count = static_cast<std::uint64_t>(count);
  launch.threads = threads;
  return squared_norm(launch);
}

class SquaredNormOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(SquaredNormOnEveryTarget);

TEST_P(SquaredNormOnEveryTarget, IsTheSumOfSquaresOfTheDirection) {
  for (const std::uint64_t first : {0u, 1u, 63u, 64u, 100u, 32768u - 5u}) {
    for (const auto count : awkward_sizes()) {
      const auto z = generated<double>(kNormKey, Distribution::normal, first, count);
      double sum = 0;
      for (const double value : z) sum += value * value;
      EXPECT_NEAR(norm_of(first, count), sum, 1e-9 * sum) << first << " " << count;
      EXPECT_NEAR(norm_of(first, count), sum, 1e-13 * sum) << first << " " << count;
    }
  }
}

TEST_P(SquaredNormOnEveryTarget, HasTheSameBitsForAnyThreads) {
  const double one = norm_of(1000003, 300001, 1);
  EXPECT_EQ(norm_of(1000003, 300001, 2), one);
  EXPECT_EQ(norm_of(1000003, 300001, 3), one);
}

TEST_P(SquaredNormOnEveryTarget, AddsUpOverAnySplit) {
  std::mt19937 engine(1);
  const double whole = norm_of(17, 100000);
  for (int round = 0; round < 20; ++round) {
    const auto cuts = random_cuts(100000, 8, engine);
    double sum = 0;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      sum += norm_of(17 + static_cast<std::uint64_t>(cuts[k]), cuts[k + 1] - cuts[k]);
    }
    EXPECT_NEAR(sum, whole, 1e-12 * whole);
  }
}

// Many elements: the products of uniforms must not run out of range.
TEST_P(SquaredNormOnEveryTarget, OfManyElementsIsTheirCount) {
  const double n = 1 << 21;
  EXPECT_NEAR(norm_of(0, 1 << 21, 2), n, 4.5 * std::sqrt(2 * n));
}

}  // namespace
}  // namespace sadam::kernels
