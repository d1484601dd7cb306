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

}  // namespace
}  // namespace sadam::base
