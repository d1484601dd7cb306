#include "page/buckets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sadam::page {
namespace {

TEST(Buckets, KeepEveryStepWhereThereIsRoom) {
  Buckets buckets;
  for (int step = 1; step <= 2000; ++step) buckets.add(step, step * 0.5);
  EXPECT_EQ(buckets.length(), 1);
  ASSERT_EQ(buckets.buckets().size(), 2000U);
  EXPECT_EQ(buckets.buckets()[6].last_step, 7);
  EXPECT_EQ(buckets.buckets()[6].mean(), 3.5);
}

TEST(Buckets, DoubleTheirLengthWhenTheyAreFull) {
  Buckets buckets;
  for (int step = 1; step <= 2001; ++step) buckets.add(step, step);
  EXPECT_EQ(buckets.length(), 2);
  ASSERT_EQ(buckets.buckets().size(), 1001U);
  const auto& first = buckets.buckets().front();
  EXPECT_EQ(first.last_step, 2);
  EXPECT_EQ(first.low, 1);
  EXPECT_EQ(first.high, 2);
  EXPECT_EQ(first.mean(), 1.5);
  EXPECT_EQ(buckets.buckets().back().last_step, 2001);
}

TEST(Buckets, WhatIsNotFiniteSpoilsNoMeanAndLeavesAGapWhereThereIsNothingElse) {
  Buckets buckets;
  for (int step = 1; step <= 4000; ++step)
    buckets.add(step, step == 2 || step == 5 || step == 6 ? std::nan("") : 3);
  ASSERT_EQ(buckets.length(), 2);
  EXPECT_EQ(buckets.buckets()[0].mean(), 3);
  EXPECT_EQ(buckets.buckets()[2].finite, 0);
  EXPECT_EQ(buckets.buckets()[2].last_step, 6);
}

TEST(Buckets, AStepFromAnywhereIsSurvived) {
  Buckets buckets;
  for (const std::int64_t step :
       {std::int64_t{-5}, std::int64_t{0}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max()})
    buckets.add(step, 1);
  EXPECT_LE(buckets.buckets().size(), Buckets::kMost);
  EXPECT_EQ(buckets.buckets().front().last_step, 3);
}

TEST(Bins, HoldWhatFellIntoThem) {
  Bins bins;
  for (const double value : {0.0, 0.004, 0.015, 0.999, 1.0, std::nan(""), -1.0}) bins.add(value);
  EXPECT_DOUBLE_EQ(bins.width(), 0.01);
  EXPECT_EQ(bins.counts()[0], 3);
  EXPECT_EQ(bins.counts()[1], 1);
  EXPECT_EQ(bins.counts()[99], 2);
}

TEST(Bins, WidenForWhatLiesAbove) {
  Bins bins;
  for (const double value : {0.005, 0.015, 0.99, 1.5}) bins.add(value);
  EXPECT_DOUBLE_EQ(bins.width(), 0.02);
  EXPECT_EQ(bins.counts()[0], 2);
  EXPECT_EQ(bins.counts()[49], 1);
  EXPECT_EQ(bins.counts()[75], 1);
}

}  // namespace
}  // namespace sadam::page
