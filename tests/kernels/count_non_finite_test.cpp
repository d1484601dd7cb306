#include <gtest/gtest.h>

#include <limits>

#include "kernels/every_target.h"

namespace sadam::kernels {
namespace {

template <class T>
std::int64_t counted(Unaligned<T>& data, const std::vector<std::int64_t>& cuts, int threads) {
  CountNonFinite<T> launch;
  launch.place.threads = threads;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    launch.segments.push_back({data.data() + cuts[k], cuts[k + 1] - cuts[k]});
  }
  std::int64_t found = 7;
  launch.out = &found;
  cpu_kernels().of<T>().count_non_finite(launch);
  return found - 7;
}

class CountNonFiniteOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(CountNonFiniteOnEveryTarget);

template <class T>
void expect_found_anywhere() {
  using Limits = std::numeric_limits<T>;
  const std::int64_t count = 67;
  const T finite[] = {Limits::max(), Limits::lowest(), Limits::denorm_min(), -Limits::denorm_min(), T{0},
                      -T{0}};
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(finite[i % 6]);
  Unaligned<T> data(values);
  EXPECT_EQ(counted(data, {0, count}, 1), 0);
  for (const T bad : {Limits::quiet_NaN(), Limits::signaling_NaN(), -Limits::quiet_NaN(), Limits::infinity(),
                      -Limits::infinity()}) {
    for (std::int64_t i = 0; i < count; ++i) {
      Unaligned<T> spoiled(values);
      spoiled.data()[i] = bad;
      EXPECT_EQ(counted(spoiled, {0, count}, 1), 1) << i;
      EXPECT_EQ(counted(spoiled, {0, i}, 1), 0) << i;
      EXPECT_EQ(counted(spoiled, {0, i + 1, count}, 1), 1) << i;
    }
  }
}

TEST_P(CountNonFiniteOnEveryTarget, FindsNaNAndInfinityAnywhereAndNothingElse) {
  expect_found_anywhere<float>();
  expect_found_anywhere<double>();
}

TEST_P(CountNonFiniteOnEveryTarget, CountsAll) {
  for (const auto count : awkward_sizes()) {
    Unaligned<float> data(
        std::vector<float>(static_cast<std::size_t>(count), std::numeric_limits<float>::infinity()));
    for (const int threads : {1, 2}) EXPECT_EQ(counted(data, {0, count}, threads), count);
  }
}

}  // namespace
}  // namespace sadam::kernels
