// The ideal path: what a method with steps of no length would do.
#pragma once

#include <vector>

#include "lab/landscape.h"

namespace sadam::lab {

/// The subgradient flow, −x′(t) = the element of ∂f(x(t)) that is nearest to 0. Along a kink it slides; the
/// points where it meets or leaves one are among its points.
struct Flow {
  std::vector<double> times;
  std::vector<Point> points;
  /// An estimate from above of how far from the truth it is: the largest distance, at equal times, from the
  /// same integration with twice the step (whose own error is 16 times as large), and what locating the kinks
  /// costs.
  double error = 0;
  bool at_rest = false;  ///< it ended where ∂f holds 0, to 1e-9
};

/// From `start` for this long or until it is at rest. By Runge and Kutta's fourth-order rule between the
/// events at which a kink is met or left, which are found by bisection. Throws an Error for a landscape that
/// jumps, and where more than 12 kinks meet.
Flow subgradient_flow(const Landscape& f, const Point& start, double time = 60, double step = 1.0 / 256);

}  // namespace sadam::lab
