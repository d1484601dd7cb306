#include "base/quantities.h"

#include <gtest/gtest.h>

namespace sadam::base {
namespace {

// Accuracies are whole numbers of images out of so many: in per cent they have few digits.
TEST(Percent, HasTheDigitsOfTheFraction) {
  for (int right = 0; right <= 10000; ++right)
    ASSERT_EQ(fmt::format("{}", percent(right / 10000.0)), fmt::format("{}", right / 100.0)) << right;
  EXPECT_EQ(percent(1.0 / 3), 33.3333333333);
  EXPECT_TRUE(std::isnan(percent(std::nan(""))));
}

TEST(Decimal, OfADivergedLossIsShort) {
  EXPECT_EQ(decimal(2.25, 4), "2.2500");
  EXPECT_EQ(decimal(123456789, 0), "123456789");
  EXPECT_EQ(decimal(240849320464737895811177003352064.0, 4), "2.4e+32");
  EXPECT_EQ(decimal(-1e12, 2), "-1.0e+12");
  EXPECT_EQ(decimal(std::nan(""), 2), "nan");
}

}  // namespace
}  // namespace sadam::base
