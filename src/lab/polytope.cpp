#include "lab/polytope.h"

#include <sadam/error.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

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

std::vector<double> least_squares(const std::vector<Point>& columns, const Point& b) {
  const auto n = columns.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1, 0));
  double size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = dot(columns[i], columns[j]);
    rows[i][n] = dot(columns[i], b);
    size = std::max(size, rows[i][i]);
  }
  std::vector<double> s(n, 0);
  std::vector<bool> done(n, false);
  for (std::size_t round = 0; round < n; ++round) {
    std::size_t pivot = n;
    for (std::size_t i = 0; i < n; ++i)
      if (!done[i] && (pivot == n || rows[i][i] > rows[pivot][pivot])) pivot = i;
    if (!(rows[pivot][pivot] > 1e-13 * size)) break;
    done[pivot] = true;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == pivot) continue;
      const double factor = rows[i][pivot] / rows[pivot][pivot];
      for (std::size_t j = 0; j <= n; ++j) rows[i][j] -= factor * rows[pivot][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    if (done[i]) s[i] = rows[i][n] / rows[i][i];
  return s;
}

namespace {

/// Weights that add up to 1 and make Σ wᵢpᵢ as short as possible, of any sign: the affine hull's point
/// nearest to 0.
std::vector<double> affine_weights(const std::vector<const Point*>& points) {
  std::vector<Point> apart;
  for (std::size_t i = 1; i < points.size(); ++i) apart.push_back(sum(*points[i], *points[0], -1));
  auto weights = least_squares(apart, sum(Point(points[0]->size(), 0), *points[0], -1));
  weights.insert(weights.begin(), 1 - std::accumulate(weights.begin(), weights.end(), 0.0));
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
