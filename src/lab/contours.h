// Lines of equal value of a function of the plane.
#pragma once

#include <functional>
#include <vector>

#include "lab/polytope.h"

namespace sadam::lab {

/// A rectangle of the plane.
struct Window {
  double left = -1, right = 1, bottom = -1, top = 1;
};

using PlaneFunction = std::function<double(double x, double y)>;
using Polyline = std::vector<Point>;  ///< closed where the last point is the first

/// Values of a function at the corners of `across` by `up` cells: what contours are read from.
class Heights {
 public:
  Heights(const PlaneFunction& f, const Window& window, std::size_t across, std::size_t up);

  double lowest() const;
  double highest() const;

  /// f = level by marching squares: straight within a cell, and a cell with four crossings is taken for a
  /// saddle as its middle says. For a smooth f the error is of second order in the size of the cells.
  std::vector<Polyline> contour(double level) const;

 private:
  double at(std::size_t i, std::size_t j) const { return values_[j * (across_ + 1) + i]; }

  Window window_;
  std::size_t across_;
  std::size_t up_;
  std::vector<double> values_;
};

}  // namespace sadam::lab
