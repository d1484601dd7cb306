#include <gtest/gtest.h>

#include <cmath>

#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

class InverseLengthsOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(InverseLengthsOnEveryTarget);

TEST_P(InverseLengthsOnEveryTarget, AreThoseOfEachSegmentByItself) {
  const std::int64_t step = 66;
  const std::vector<std::pair<std::uint64_t, std::int64_t>> ranges = {
      {0, 1}, {5, 0}, {17, 129}, {200, 70000}};
  for (const double added : {0.0, 0.5}) {
    std::vector<double> inverse(ranges.size(), -1);
    InverseLengths launch;
    launch.direction = {77, &step, 55};
    launch.added = added;
    launch.place.threads = 2;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      launch.segments.push_back({ranges[i].first, static_cast<std::uint64_t>(ranges[i].second), &inverse[i]});
    EXPECT_EQ(cpu_kernels().lengths_scratch(launch), 0);
    cpu_kernels().inverse_lengths(launch);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      double squares = 0;
      for (const double z :
           generated<double>({77, 66, 55}, Distribution::normal, ranges[i].first, ranges[i].second))
        squares += z * z;
      const double length = std::sqrt(squares) + added;
      const double want = length > 0 ? 1 / length : 0;
      EXPECT_NEAR(inverse[i], want, 1e-12 * want) << i;
    }
  }
}

}  // namespace
}  // namespace sadam::kernels
