// Over random series: what a chart of them may rely on.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "page/buckets.h"

namespace sadam::page {
namespace {

std::vector<double> random_series(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (auto& value : values) value = engine() % 50 == 0 ? 100 * normal(engine) : normal(engine);
  return values;
}

TEST(BucketsProperty, NoPeakIsLostAndEveryMeanIsTheMean) {
  EXPECT_TRUE(rc::check("each bucket has the extremes and the mean of its steps", [] {
    const auto values =
        random_series(*rc::gen::inRange<std::size_t>(1, 20000), *rc::gen::arbitrary<std::uint32_t>());
    Buckets buckets;
    for (std::size_t i = 0; i < values.size(); ++i) buckets.add(static_cast<std::int64_t>(i) + 1, values[i]);
    RC_ASSERT(buckets.buckets().size() <= Buckets::kMost);
    const auto length = static_cast<std::size_t>(buckets.length());
    // No longer than needed: with half of it they would not have room.
    RC_ASSERT(length == 1 || values.size() > Buckets::kMost * length / 2);
    for (std::size_t i = 0; i < buckets.buckets().size(); ++i) {
      const auto& bucket = buckets.buckets()[i];
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * length);
      const auto last =
          values.begin() + static_cast<std::ptrdiff_t>(std::min((i + 1) * length, values.size()));
      RC_ASSERT(bucket.last_step == last - values.begin());
      RC_ASSERT(bucket.low == *std::min_element(first, last));
      RC_ASSERT(bucket.high == *std::max_element(first, last));
      double sum = 0;
      for (auto value = first; value != last; ++value) sum += *value;
      RC_ASSERT(std::abs(bucket.mean() - sum / static_cast<double>(last - first)) < 1e-9);
    }
  }));
}

TEST(BucketsProperty, ARunThatGrowsChangesNothingButItsEnd) {
  EXPECT_TRUE(rc::check("earlier buckets stay while the length does", [] {
    const auto values =
        random_series(*rc::gen::inRange<std::size_t>(2, 9000), *rc::gen::arbitrary<std::uint32_t>());
    const auto cut = *rc::gen::inRange<std::size_t>(1, values.size());
    Buckets buckets;
    for (std::size_t i = 0; i < cut; ++i) buckets.add(static_cast<std::int64_t>(i) + 1, values[i]);
    const auto before = buckets;
    for (std::size_t i = cut; i < values.size(); ++i)
      buckets.add(static_cast<std::int64_t>(i) + 1, values[i]);
    RC_PRE(buckets.length() == before.length());
    for (std::size_t i = 0; i + 1 < before.buckets().size(); ++i) {
      RC_ASSERT(before.buckets()[i].last_step == buckets.buckets()[i].last_step);
      RC_ASSERT(before.buckets()[i].sum == buckets.buckets()[i].sum);
    }
  }));
}

}  // namespace
}  // namespace sadam::page
