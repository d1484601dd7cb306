#include "lab/landscape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace sadam::lab {
namespace {

// The largest distance from the truth, at the times of the flow.
double true_error(const Flow& flow, const std::function<Point(double)>& truth) {
  double largest = 0;
  for (std::size_t i = 0; i < flow.times.size(); ++i)
    largest = std::max(largest, norm(sum(flow.points[i], truth(flow.times[i]), -1)));
  return largest;
}

TEST(Flow, OnAQuadraticDecaysExponentiallyWithinTheErrorItSays) {
  const auto f = make_landscape("quadratic");  // curvatures 1 and 10
  for (const double step : {1.0 / 16, 1.0 / 64, 1.0 / 256}) {
    const auto flow = subgradient_flow(f, {1.5, -2}, 5, step);
    const double error = true_error(flow, [](double t) {
      return Point{1.5 * std::exp(-t), -2 * std::exp(-10 * t)};
    });
    EXPECT_LE(error, flow.error) << step;
    EXPECT_LT(flow.error, step > 0.05 ? 1.0 : 1e-2) << step;
  }
  EXPECT_LT(subgradient_flow(f, {1.5, -2}, 5).error, 1e-5);
}

// |x−1| + |y−1| + (x²+y²)/2: x rises from −1.5 as 1 − 2.5 e^{−t}; y falls from 2 as −1 + 3 e^{−t} until it is
// 1, and slides along that kink.
TEST(Flow, MeetsAKinkAndSlidesAlongIt) {
  const auto f = make_landscape("kinks");
  const auto flow = subgradient_flow(f, {-1.5, 2}, 12);
  const double error = true_error(flow, [](double t) {
    return Point{1 - 2.5 * std::exp(-t), std::max(1.0, -1 + 3 * std::exp(-t))};
  });
  EXPECT_LE(error, flow.error);
  EXPECT_LT(flow.error, 1e-7);
  EXPECT_NEAR(flow.points.back()[0], 1, 1e-4);
  // The corner of the path is one of its points.
  const double met = std::log(1.5);
  bool is_there = false;
  for (const double time : flow.times) is_there = is_there || std::fabs(time - met) < 1e-8;
  EXPECT_TRUE(is_there);
}

TEST(Flow, OnAChainSlidesAndComesToRestInTime) {
  // |x| + |y − x| from (2, 0): x falls at speed 2 and y rises at 1 until they meet at 2/3, t = 2/3; together
  // they fall at 1/2 until 0.
  const auto f = make_landscape("chain");
  const auto flow = subgradient_flow(f, {2, 0}, 10);
  const double error = true_error(flow, [](double t) {
    if (t < 2.0 / 3) return Point{2 - 2 * t, t};
    const double both = std::max(0.0, 2.0 / 3 - (t - 2.0 / 3) / 2);
    return Point{both, both};
  });
  EXPECT_LE(error, flow.error);
  EXPECT_LT(flow.error, 1e-7);
  EXPECT_TRUE(flow.at_rest);
  EXPECT_LT(flow.times.back(), 2.1);
}

TEST(Flow, FollowsACurvedKinkAtTheSpeedOfItsSlope) {
  // Along y = x² the flow of |1 − x| has x′ = 1/(1 + 4x²): x + 4x³/3 grows by t.
  const auto f = make_landscape("valley");
  const auto flow = subgradient_flow(f, {-1.5, 2.25}, 20);
  const auto passed = [](double x) { return x + 4 * x * x * x / 3; };
  for (std::size_t i = 0; i < flow.points.size(); ++i) {
    const auto& point = flow.points[i];
    EXPECT_NEAR(point[1], point[0] * point[0], 1e-9);
    if (point[0] < 0.999) {
      EXPECT_NEAR(passed(point[0]) - passed(-1.5), flow.times[i], 1e-6);
    }
  }
  EXPECT_TRUE(flow.at_rest);
  EXPECT_LT(norm(sum(flow.points.back(), {1, 1}, -1)), 1e-8);
}

TEST(Flow, LeavesAKinkWhereItNoLongerHolds) {
  // |y| + smooth part (x − 3)²/2 + c(x)·y with c = x/2: on y = 0 the kink holds while |x/2| ≤ 1, until x = 2;
  // there y starts to fall.
  Landscape f;
  f.name = "leaving";
  f.start = {0, 1};
  f.smooth = [](const Point& x) { return 0.5 * (x[0] - 3) * (x[0] - 3) + 0.5 * x[0] * x[1]; };
  f.smooth_gradient = [](const Point& x) { return Point{x[0] - 3 + 0.5 * x[1], 0.5 * x[0]}; };
  f.kinks = {{1, [](const Point& x) { return x[1]; }, [](const Point&) { return Point{0, 1}; }}};
  const auto flow = subgradient_flow(f, {0, 0}, 3);
  for (std::size_t i = 0; i < flow.points.size(); ++i) {
    if (flow.points[i][0] < 2 - 1e-6) {
      EXPECT_NEAR(flow.points[i][1], 0, 1e-9);
    }
    if (flow.points[i][0] > 2.2) {
      EXPECT_LT(flow.points[i][1], -1e-3);
    }
  }
  EXPECT_GT(flow.points.back()[0], 2.2);
}

TEST(Flow, GoesDownEveryLandscapeThatHasOne) {
  for (const auto& name : landscape_names()) {
    const auto f = make_landscape(name);
    if (f.cell > 0) {
      EXPECT_THROW(subgradient_flow(f, f.start), Error);
      continue;
    }
    const auto flow = subgradient_flow(f, f.start);
    double before = f.value(flow.points.front());
    for (const auto& point : flow.points) {
      EXPECT_LE(f.value(point), before + 1e-8) << name;
      before = f.value(point);
    }
    EXPECT_LT(before - f.lowest, 0.05 * (f.value(f.start) - f.lowest)) << name;
    EXPECT_LT(flow.error, 1e-5) << name;
  }
}

}  // namespace
}  // namespace sadam::lab
