// Convex polytopes, given by points whose hull they are: what a Clarke subdifferential is here.
#pragma once

#include <vector>

namespace sadam::lab {

using Point = std::vector<double>;

double dot(const Point& a, const Point& b);
double norm(const Point& a);
/// a + factor·b.
Point sum(const Point& a, const Point& b, double factor = 1);

/// The hull of these points, which need not all be vertices. Never empty.
using Polytope = std::vector<Point>;

/// The largest distance between two of its points.
double diameter(const Polytope& polytope);

/// The point of the hull that is nearest to 0 (Wolfe's algorithm), as far as rounding lets it be told.
Point nearest_to_zero(const Polytope& polytope);

/// dist(0, polytope).
double distance_from_zero(const Polytope& polytope);

/// The corners of a polygon in the plane, in order, without points inside or on its edges.
Polytope corners_in_plane(const Polytope& polytope);

}  // namespace sadam::lab
