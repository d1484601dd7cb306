#include "lab/polytope.h"

#include <sadam/error.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace sadam::lab {

double dot(const Point& a, const Point& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

double norm(const Point& a) {
  double largest = 0;
  for (const double x : a) largest = std::max(largest, std::fabs(x));
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double total = 0;
  for (const double x : a) total += (x / largest) * (x / largest);
  return largest * std::sqrt(total);
}

Point sum(const Point& a, const Point& b, double factor) {
  auto total = a;
  for (std::size_t i = 0; i < a.size(); ++i) total[i] += factor * b[i];
  return total;
}

double diameter(const Polytope& polytope) {
  double largest = 0;
  for (std::size_t i = 0; i < polytope.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) largest = std::max(largest, norm(sum(polytope[i], polytope[j], -1)));
  return largest;
}

namespace {

/// Weights that add up to 1 and make Σ wᵢpᵢ as short as possible, of any sign: the affine hull's point
/// nearest to 0. From the conditions of Lagrange, by elimination with pivoting.
std::vector<double> affine_weights(const std::vector<const Point*>& points) {
  const auto n = points.size();
  std::vector<std::vector<double>> rows(n + 1, std::vector<double>(n + 2, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = dot(*points[i], *points[j]);
    rows[i][n] = rows[n][i] = 1;
  }
  rows[n][n + 1] = 1;
  for (std::size_t column = 0; column <= n; ++column) {
    auto pivot = column;
    for (auto row = column + 1; row <= n; ++row)
      if (std::fabs(rows[row][column]) > std::fabs(rows[pivot][column])) pivot = row;
    std::swap(rows[column], rows[pivot]);
    if (rows[column][column] == 0) continue;  // points that depend on each other
    for (std::size_t row = 0; row <= n; ++row) {
      if (row == column) continue;
      const double factor = rows[row][column] / rows[column][column];
      for (auto k = column; k <= n + 1; ++k) rows[row][k] -= factor * rows[column][k];
    }
  }
  std::vector<double> weights(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    if (rows[i][i] != 0) weights[i] = rows[i][n + 1] / rows[i][i];
  return weights;
}

Point combination(const std::vector<const Point*>& points, const std::vector<double>& weights) {
  Point total(points.front()->size(), 0);
  for (std::size_t i = 0; i < points.size(); ++i) total = sum(total, *points[i], weights[i]);
  return total;
}

}  // namespace

Point nearest_to_zero(const Polytope& polytope) {
  if (polytope.empty()) throw Error("a polytope has no points: give at least one.");
  double size = 0;
  for (const auto& point : polytope) size = std::max(size, norm(point));
  const auto shortest = [](const Point& a, const Point& b) { return norm(a) < norm(b); };
  std::vector<const Point*> corral{&*std::min_element(polytope.begin(), polytope.end(), shortest)};
  std::vector<double> weights{1};
  auto nearest = *corral.front();
  for (std::size_t round = 0; round < 100 + 10 * polytope.size(); ++round) {
    // The point that lies farthest towards 0; none does if `nearest` is the answer.
    const auto* best = &polytope.front();
    for (const auto& point : polytope)
      if (dot(nearest, point) < dot(nearest, *best)) best = &point;
    const double length = norm(nearest);
    if (length * length - dot(nearest, *best) <= 1e-12 * length * length + 1e-15 * size * length) break;
    if (std::find(corral.begin(), corral.end(), best) != corral.end()) break;
    corral.push_back(best);
    weights.push_back(0);
    while (true) {
      const auto wanted = affine_weights(corral);
      // As far towards them as no weight becomes negative; whose does first, leaves.
      double way = 1;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] < 0 && weights[i] > wanted[i])
          way = std::min(way, weights[i] / (weights[i] - wanted[i]));
      for (std::size_t i = 0; i < wanted.size(); ++i) weights[i] += way * (wanted[i] - weights[i]);
      if (way == 1) break;
      const auto least = std::min_element(weights.begin(), weights.end()) - weights.begin();
      corral.erase(corral.begin() + least);
      weights.erase(weights.begin() + least);
    }
    nearest = combination(corral, weights);
  }
  return nearest;
}

double distance_from_zero(const Polytope& polytope) { return norm(nearest_to_zero(polytope)); }

Polytope corners_in_plane(const Polytope& polytope) {
  auto points = polytope;
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  const auto turns_left = [](const Point& a, const Point& b, const Point& c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0;
  };
  Polytope corners;
  const auto add_side = [&](auto begin, auto end) {
    const auto first = corners.size();
    for (auto point = begin; point != end; ++point) {
      while (corners.size() >= first + 2 && !turns_left(corners.end()[-2], corners.back(), *point))
        corners.pop_back();
      corners.push_back(*point);
    }
    corners.pop_back();  // the first of the other side
  };
  add_side(points.begin(), points.end());
  add_side(points.rbegin(), points.rend());
  return corners;
}

}  // namespace sadam::lab
