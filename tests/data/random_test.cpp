#include "data/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "data/loader.h"

namespace sadam::data {
namespace {

TEST(Random, IsPhilox) {
  // Counter and key are zero but for the purpose in word 1: the same block, computed by the one-at-a-time
  // form.
  kernels::PhiloxWords<kernels::ScalarMath<double>> words[1] = {
      {0, static_cast<std::uint32_t>(Purpose::shuffle), 7, 1}};
  kernels::philox_rounds(words, kernels::PhiloxKeys<kernels::ScalarMath<double>>::from(0x300000002), 0);
  Random random(0x300000002, Purpose::shuffle, 0x100000007);
  EXPECT_EQ(static_cast<std::uint32_t>(words[0].w0), random.bits());
  EXPECT_EQ(static_cast<std::uint32_t>(words[0].w1), random.bits());
  EXPECT_EQ(static_cast<std::uint32_t>(words[0].w2), random.bits());
  EXPECT_EQ(static_cast<std::uint32_t>(words[0].w3), random.bits());
}

TEST(Random, IsUnbiasedWhereTheRemainderIsLarge) {
  // 3·2³⁰ values of 2³² words: taken without rejection, a third of the results would come twice as often as
  // the rest.
  constexpr std::uint32_t kCount = 3u << 30;
  Random random(1, Purpose::shuffle, 0);
  std::array<int, 3> thirds{};
  for (int i = 0; i < 30000; ++i) ++thirds[random.below(kCount) % 3];
  for (const int times : thirds) EXPECT_NEAR(10000, times, 400);
}

TEST(Random, ReachesBothEndsOfARange) {
  Random random(1, Purpose::shuffle, 0);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(-2, 3));
  EXPECT_EQ((std::set<int>{-2, -1, 0, 1, 2, 3}), seen);
}

TEST(ShuffledOrder, HoldsEveryImageOnce) {
  for (std::size_t count : {0u, 1u, 2u, 7u, 1000u, 4099u}) {
    auto order = shuffled_order(count, 5, 3);
    std::vector<std::uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0u);
    if (count > 2) {
      EXPECT_NE(expected, order) << count;
    }
    std::sort(order.begin(), order.end());
    EXPECT_EQ(expected, order) << count;
  }
}

TEST(ShuffledOrder, IsAFunctionOfSeedAndEpoch) {
  const auto order = shuffled_order(100, 5, 3);
  EXPECT_EQ(order, shuffled_order(100, 5, 3));
  EXPECT_NE(order, shuffled_order(100, 6, 3));
  EXPECT_NE(order, shuffled_order(100, 5, 4));
  EXPECT_NE(order, shuffled_order(100, 5 + (std::uint64_t{1} << 32), 3));
  EXPECT_NE(order, shuffled_order(100, 5, 3 + (std::uint64_t{1} << 32)));
}

// Runs recorded by one version must be resumed alike by the next.
TEST(ShuffledOrder, StaysWhatItWas) {
  EXPECT_EQ((std::vector<std::uint32_t>{0, 1, 6, 5, 9, 4, 8, 3, 7, 2}), shuffled_order(10, 42, 0));
}

TEST(ShuffledOrder, TakesAllPermutationsEquallyOften) {
  std::map<std::vector<std::uint32_t>, int> seen;
  constexpr int kOrders = 24000;
  for (std::uint64_t epoch = 0; epoch < kOrders; ++epoch) ++seen[shuffled_order(4, 9, epoch)];
  ASSERT_EQ(24u, seen.size());
  double chi_squared = 0;
  for (const auto& [order, times] : seen)
    chi_squared += std::pow(times - kOrders / 24.0, 2) / (kOrders / 24.0);
  EXPECT_LT(chi_squared, 49.7);  // the 0.1 % point of 23 degrees of freedom
}

}  // namespace
}  // namespace sadam::data
