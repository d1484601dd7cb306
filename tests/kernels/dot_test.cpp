#include <gtest/gtest.h>

#include <cmath>

#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

const std::int64_t kDotStep = 8;
const DirectionKey kDotKey = {9, 8, 7};

template <class T>
double dotted(Unaligned<T>& gradient, Distribution distribution, std::uint64_t first, double scale,
              const std::vector<std::int64_t>& cuts, int threads) {
  Dot<T> launch;
  launch.direction = {9, &kDotStep, 7};
  launch.distribution = distribution;
  launch.scale = scale;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    launch.segments.push_back({gradient.data() + cuts[k], cuts[k + 1] - cuts[k],
                               first + static_cast<std::uint64_t>(cuts[k]), nullptr});
  }
  double sum = 0;
  launch.out = &sum;
  cpu_kernels().of<T>().dot(launch);
  return sum;
}

class DotOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(DotOnEveryTarget);

template <class T>
void expect_plain_sum(Distribution distribution) {
  std::mt19937 engine(3);
  for (const auto count : awkward_sizes()) {
    const std::uint64_t first = 99 + static_cast<std::uint64_t>(count);
    const auto values = random_values<T>(count, 2);
    const auto z = generated<T>(kDotKey, distribution, first, count);
    double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double product = 0.01 * static_cast<double>(values[i]) * static_cast<double>(z[i]);
      sum += product;
      magnitude += std::abs(product);
    }
    Unaligned<T> gradient(values);
    EXPECT_NEAR(dotted<T>(gradient, distribution, first, 0.01, {0, count}, 1), sum, 1e-14 * magnitude)
        << count;
    const auto cuts = random_cuts(count, 5, engine);
    EXPECT_NEAR(dotted<T>(gradient, distribution, first, 0.01, cuts, 2), sum, 1e-14 * magnitude) << count;
  }
}

TEST_P(DotOnEveryTarget, IsTheSumOfProductsInDouble) {
  expect_plain_sum<float>(Distribution::normal);
  expect_plain_sum<float>(Distribution::rademacher);
  expect_plain_sum<double>(Distribution::normal);
  expect_plain_sum<double>(Distribution::rademacher);
}

TEST_P(DotOnEveryTarget, HasTheSameBitsForAnyThreads) {
  Unaligned<float> gradient(random_values<float>(200001, 4));
  const std::vector<std::int64_t> cuts = {0, 70000, 70001, 200001};
  const double one = dotted<float>(gradient, Distribution::normal, 5, 1, cuts, 1);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(dotted<float>(gradient, Distribution::normal, 5, 1, cuts, threads), one);
  }
}

TEST_P(DotOnEveryTarget, AddsEachSegmentByItsOwnLength) {
  const auto g = random_values<double>(300, 6);
  const double inverse[] = {0.25, 0.5};
  Dot<double> launch;
  launch.direction = {9, &kDotStep, 7};
  launch.scale = 3;
  launch.segments = {{g.data(), 100, 0, &inverse[0]}, {g.data() + 100, 200, 100, &inverse[1]}};
  double sum = 10;
  launch.out = &sum;
  cpu_kernels().of_double.dot(launch);
  Unaligned<double> first({g.begin(), g.begin() + 100}), second({g.begin() + 100, g.end()});
  const double want = dotted<double>(first, Distribution::normal, 0, 0.75, {0, 100}, 1) +
                      dotted<double>(second, Distribution::normal, 100, 1.5, {0, 200}, 1);
  EXPECT_NEAR(sum, 10 + want, 1e-12);
}

TEST_P(DotOnEveryTarget, OfADirectionWithItselfIsItsSquaredNorm) {
  Unaligned<double> z(generated<double>(kDotKey, Distribution::normal, 64, 6400));
  SquaredNorm norm;
  norm.key = kDotKey;
  norm.first = 64;
  norm.count = 6400;
  const double squared = squared_norm(norm);
  EXPECT_NEAR(dotted<double>(z, Distribution::normal, 64, 1, {0, 6400}, 1), squared, 1e-12 * squared);
}

}  // namespace
}  // namespace sadam::kernels
