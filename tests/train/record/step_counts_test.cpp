#include "train/record/step_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/support.h"

namespace sadam::train {
namespace {

using sadam::testing::says;

TEST(StepCounts, CountEveryKindOfTrouble) {
  StepCounts counts;
  StepEvent good;
  good.probed = true;
  counts.add(good);
  StepEvent noisy = good;
  noisy.within_noise = true;
  noisy.non_finite_probes = 2;
  counts.add(noisy);
  StepEvent skipped;
  skipped.skipped = true;
  counts.add(skipped);
  EXPECT_EQ(counts, (StepCounts{3, 1, 2, 1, 2}));

  const auto list = sentences(counts);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(says(list[0], "1 of 3 steps were skipped"));
  EXPECT_TRUE(says(list[1], "2 probes"));
  EXPECT_TRUE(says(list[2], "In 1 of 2 probed steps"));
}

TEST(StepCounts, ThereIsNothingToSayOfARunThatWentWell) {
  EXPECT_TRUE(sentences({100, 0, 100, 0, 0}).empty());
  EXPECT_EQ(divergence({}, {10, 9, 1, 0, 0}), "");
}

TEST(StepCounts, ARunThatLearnedNothingInItsLastEpochDiverged) {
  EXPECT_TRUE(says(divergence({}, {10, 10, 0, 0, 0}), "every step of the last epoch was skipped"));
  EpochEvent last;
  last.test_loss = std::nan("");
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "test loss"));
  last.train_loss = INFINITY;
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "training loss"));
  EXPECT_TRUE(says(divergence(last, {10, 3, 7, 0, 0}), "try a smaller optimizer.lr."));
}

}  // namespace
}  // namespace sadam::train
