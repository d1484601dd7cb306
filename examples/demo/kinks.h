// The first problem: a function of two variables with two kinks, whose minimum is known.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace demo {

using Point = std::array<double, 2>;

/// f(x, y) = |x−1| + |y−1| + 0.5(x² + y²), the paper's Figure 1. Either coordinate z contributes
/// 0.5 + 0.5(z−1)² left of 1 and rises with slope 2 or more right of it, so the minimum is f = 1 at (1, 1):
/// a kink, with 0 on the edge of its subdifferential [0, 2]².
double kinks(const Point& at);
constexpr Point kinks_minimiser = {1.0, 1.0};
constexpr double kinks_minimum = 1.0;

/// One run: where it was before each step and after the last, and the brake of each step.
struct Path {
  std::string name;
  std::vector<Point> points;
  std::vector<double> brakes;
};

/// Runs every contestant, prints the table, and returns the paths of the first seed in the table's order.
std::vector<Path> show_kinks(std::ostream& out, std::uint64_t seed, bool quick);

}  // namespace demo
