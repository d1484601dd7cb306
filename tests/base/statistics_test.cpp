#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace sadam::base {
namespace {

TEST(Statistics, DividesByOneLessThanTheCount) {
  const std::vector<double> values = {1, 2, 4, 5};
  EXPECT_DOUBLE_EQ(mean(values), 3);
  EXPECT_DOUBLE_EQ(deviation(values).value(), std::sqrt(10.0 / 3));
}

TEST(Statistics, HasNoDeviationOfOneValue) {
  const std::vector<double> one = {15.957};
  EXPECT_FALSE(deviation(one).has_value());
  EXPECT_EQ(with_deviation(one, 2), "15.96");
}

TEST(Statistics, WritesMeanAndDeviation) {
  EXPECT_EQ(with_deviation(std::vector<double>{15.67, 15.96, 16.25}, 2), "15.96 ± 0.29");
  EXPECT_EQ(with_deviation(std::vector<double>{}, 2), "–");
}

TEST(Statistics, OneRunThatDivergedMakesTheMeanNaNAndWritesNoSign) {
  const std::vector<double> values = {1, -std::nan("")};
  EXPECT_EQ(with_deviation(values, 2), "nan");
}

TEST(RankCorrelation, IsOfTheOrderAlone) {
  const std::vector<double> x = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::vector<double>{1, 8, 27, 64, 125}).value, 1);
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::vector<double>{9, 7, 5, 3, 1}).value, -1);
  // Worked by hand: the ranks differ by 1, 1, 0, 1, 1, so 1 − 6·4/(5·24).
  EXPECT_DOUBLE_EQ(rank_correlation(x, std::vector<double>{20, 10, 30, 50, 40}).value, 0.8);
  // Equal numbers share their rank: 1.5, 1.5, 3 with 1, 2, 3 is √3/2.
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 3}).value,
                   std::sqrt(3.0) / 2);
}

TEST(RankCorrelation, WithoutAnOrderMayBeAnything) {
  const auto none = rank_correlation(std::vector<double>(6, 1), std::vector<double>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(none.value, 0);
  EXPECT_EQ(none.low, -1);
  EXPECT_EQ(none.high, 1);
}

// Of two normal numbers with Pearson's r, Spearman's is 6/π·asin(r/2).
TEST(RankCorrelation, ItsIntervalHoldsTheTrueOneAboutAsOftenAsItSays) {
  std::mt19937 engine(1);
  std::normal_distribution<> normal;
  constexpr int kTrials = 2000;
  for (const double r : {0.0, 0.6}) {
    const double truth = 6 / std::numbers::pi * std::asin(r / 2);
    int held = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> x;
      std::vector<double> y;
      for (int i = 0; i < 20; ++i) {
        x.push_back(normal(engine));
        y.push_back(r * x.back() + std::sqrt(1 - r * r) * normal(engine));
      }
      const auto found = rank_correlation(x, y);
      held += found.low <= truth && truth <= found.high;
    }
    EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.95, 0.02) << r;
  }
}

}  // namespace
}  // namespace sadam::base
