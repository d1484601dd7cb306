#include "report/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sadam::report {
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

}  // namespace
}  // namespace sadam::report
