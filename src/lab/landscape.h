// Functions whose kinks are known in closed form: where optimizers and probes can be checked against the
// truth.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/polytope.h"

namespace sadam::lab {

/// f(x) = smooth(x) + Σ cⱼ·|hⱼ(x)| + maxᵢ aᵢ(x), each part with its gradient. The sum rule holds with
/// equality for these (every term is regular), so Clarke's ∂f is known: it has a corner for every choice of
/// sign of the terms that vanish and of one among the largest pieces.
struct Term {
  double weight = 1;                            ///< cⱼ > 0
  std::function<double(const Point&)> value;    ///< hⱼ
  std::function<Point(const Point&)> gradient;  ///< ∇hⱼ
};

class Landscape {
 public:
  std::string name;     ///< "kinks"
  std::string formula;  ///< "|x−1| + |y−1| + (x² + y²)/2"
  Point start;          ///< where optimizers begin; has as many coordinates as the function
  std::optional<Point> minimiser;
  double lowest = 0;  ///< f there

  std::function<double(const Point&)> smooth;
  std::function<Point(const Point&)> smooth_gradient;
  std::vector<Term> kinks;   ///< terms cⱼ·|hⱼ|
  std::vector<Term> pieces;  ///< of the maximum
  /// Above 0: x is rounded to multiples of this first, as in a quantized network, and the gradient passes
  /// straight through. f then jumps, so that it has no ∂f.
  double cell = 0;

  bool is_smooth() const { return kinks.empty() && pieces.size() < 2 && cell == 0; }
  double value(const Point& x) const;
  /// An element of ∂f: the gradient wherever there is one; sign(0) is 0 and of equal pieces the first counts.
  Point gradient(const Point& x) const;
  /// The value as a scalar that torch can call `backward` on: w then gets the gradient.
  at::Tensor loss(const at::Tensor& w) const;

  /// Clarke's ∂f(x). A kink counts as met where |hⱼ(x)| ≤ tolerance·‖∇hⱼ‖. At most 12 may meet.
  Polytope subdifferential(const Point& x, double tolerance = 1e-12) const;
  /// dist(0, ∂f(x)): the measure of stationarity.
  double stationarity(const Point& x, double tolerance = 1e-12) const;

  /// Whether dist(0, Goldstein's ∂_δ f(x)) ≤ ε: x is (δ, ε)-stationary. ∂_δ f is the hull of ∂f over a ball
  /// of radius δ. Seen from within: corners at x, on the way to where the kinks in the ball meet, and at
  /// points spread over the ball. So `true` is certain, and `false` says that nothing was found.
  bool is_stationary(const Point& x, double delta, double epsilon) const;

  /// Whether a kink or a jump lies within `radius` of x: the truth that probes are after. A curved kink is
  /// taken for straight, which is exact to second order in the radius.
  bool has_kink_within(const Point& x, double radius) const;
};

/// Every landscape by name; those for any dimension in `dimensions`.
std::vector<std::string> landscape_names();
/// Throws a UsageError with the nearest name, or for a dimension that does not fit.
Landscape make_landscape(const std::string& name, std::size_t dimensions = 2);

// ---- the ideal path: what a method with steps of no length would do (flow.cpp) ----------------------------

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
