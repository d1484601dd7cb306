#include "lab/landscape_picture.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sadam::lab {
namespace {

double radius(const Point& point) { return std::hypot(point[0], point[1]); }
double squared(double x, double y) { return x * x + y * y; }

TEST(Contours, OfACircleAreCirclesThatClose) {
  for (const std::size_t cells : {40U, 80U, 160U}) {
    const Heights heights(squared, {-2, 2, -2, 2}, cells, cells);
    const auto lines = heights.contour(1);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines.front().front(), lines.front().back());
    const double cell = 4.0 / static_cast<double>(cells);
    double way = 0;
    for (std::size_t i = 0; i < lines.front().size(); ++i) {
      EXPECT_NEAR(radius(lines.front()[i]), 1, 0.2 * cell * cell) << "second order in the cells";
      if (i > 0) way += radius(sum(lines.front()[i], lines.front()[i - 1], -1));
    }
    EXPECT_NEAR(way, 2 * std::acos(-1.0), cell * cell);
  }
}

TEST(Contours, ThatLeaveTheWindowAreOpenLines) {
  const Heights heights([](double x, double y) { return x + 0.001 * y; }, {-1, 1, -1, 1}, 10, 10);
  const auto lines = heights.contour(0.05);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NEAR(std::fabs(lines.front().front()[1]), 1, 1e-12);
  EXPECT_NEAR(std::fabs(lines.front().back()[1]), 1, 1e-12);
}

TEST(Contours, OfTwoHillsAreTwoLinesAndOfASaddleDoNotCross) {
  const auto hills = [](double x, double y) {
    return std::exp(-squared(x - 1, y)) + std::exp(-squared(x + 1, y));
  };
  EXPECT_EQ(Heights(hills, {-3, 3, -2, 2}, 90, 60).contour(0.9).size(), 2U);
  EXPECT_EQ(Heights(hills, {-3, 3, -2, 2}, 90, 60).contour(0.3).size(), 1U);
  const auto saddle = [](double x, double y) { return x * y; };
  EXPECT_EQ(Heights(saddle, {-1, 1, -1, 1}, 9, 9).contour(0.001).size(), 2U);
}

TEST(Contours, KnowHowHighItIsAndSkipWhatIsNoNumber) {
  const Heights heights([](double x, double y) { return x < -0.5 ? NAN : squared(x, y); }, {-1, 1, -1, 1}, 20,
                        20);
  for (const auto& line : heights.contour(0.6))
    for (const auto& point : line) EXPECT_TRUE(std::isfinite(point[0]) && std::isfinite(point[1]));
  const Heights whole(squared, {-1, 1, -1, 1}, 20, 20);
  EXPECT_EQ(whole.lowest(), 0);
  EXPECT_EQ(whole.highest(), 2);
  EXPECT_TRUE(whole.contour(3).empty());
}

}  // namespace
}  // namespace sadam::lab
