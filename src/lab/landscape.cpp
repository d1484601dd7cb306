#include "lab/landscape.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::lab {
namespace {

constexpr std::size_t kMostActive = 12;  // kinks that meet: ∂f then has 4,096 corners

struct TooManyKinks : Error {
  using Error::Error;
};

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

Point rounded(Point x, double cell) {
  if (cell > 0)
    for (auto& each : x) each = cell * std::nearbyint(each / cell);
  return x;
}

Point unit(std::size_t dimensions, std::size_t i, double length = 1) {
  Point point(dimensions, 0);
  point[i] = length;
  return point;
}

}  // namespace

double Landscape::value(const Point& x) const {
  const auto at = rounded(x, cell);
  double total = smooth ? smooth(at) : 0;
  for (const auto& kink : kinks) total += kink.weight * std::fabs(kink.value(at));
  if (pieces.empty()) return total;
  double largest = pieces.front().value(at);
  for (const auto& piece : pieces) largest = std::max(largest, piece.value(at));
  return total + largest;
}

Point Landscape::gradient(const Point& x) const {
  const auto at = rounded(x, cell);
  auto total = smooth_gradient ? smooth_gradient(at) : Point(x.size(), 0);
  for (const auto& kink : kinks) total = sum(total, kink.gradient(at), kink.weight * sign(kink.value(at)));
  if (pieces.empty()) return total;
  const auto* largest = &pieces.front();
  for (const auto& piece : pieces)
    if (piece.value(at) > largest->value(at)) largest = &piece;
  return sum(total, largest->gradient(at));
}

at::Tensor Landscape::loss(const at::Tensor& w) const {
  const auto values = w.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* const first = static_cast<const double*>(values.data_ptr());
  const Point x(first, first + values.numel());
  const auto loss = at::scalar_tensor(value(x), w.options().requires_grad(false));
  if (!w.requires_grad() || !at::GradMode::is_enabled()) return loss;
  const auto slope = at::tensor(gradient(x), at::kDouble).to(w.options().requires_grad(false));
  return loss + ((w - w.detach()) * slope).sum();  // adds 0, where all is finite; its gradient is the slope
}

Polytope Landscape::subdifferential(const Point& x, double tolerance) const {
  if (cell > 0)
    throw Error(
        fmt::format("'{}' jumps, so that it has no Clarke subdifferential: ask another landscape.", name));
  auto common = smooth_gradient ? smooth_gradient(x) : Point(x.size(), 0);
  std::vector<Point> active;
  for (const auto& kink : kinks) {
    const double h = kink.value(x);
    const auto slope = kink.gradient(x);
    if (std::fabs(h) <= tolerance * std::max(norm(slope), 1e-300))
      active.push_back(sum(Point(x.size(), 0), slope, kink.weight));
    else
      common = sum(common, slope, kink.weight * sign(h));
  }
  if (active.size() > kMostActive)
    throw TooManyKinks(
        fmt::format("{} kinks of '{}' meet here: ∂f has too many corners to list; ask at another point.",
                    active.size(), name));
  Polytope corners{common};
  for (const auto& slope : active) {
    Polytope both;
    for (const auto& corner : corners)
      for (const double s : {-1.0, 1.0}) both.push_back(sum(corner, slope, s));
    corners = std::move(both);
  }
  if (pieces.empty()) return corners;
  double largest = pieces.front().value(x);
  double steepest = 0;
  for (const auto& piece : pieces) {
    largest = std::max(largest, piece.value(x));
    steepest = std::max(steepest, norm(piece.gradient(x)));
  }
  Polytope with_pieces;
  for (const auto& piece : pieces)
    if (piece.value(x) >= largest - 2 * tolerance * steepest)
      for (const auto& corner : corners) with_pieces.push_back(sum(corner, piece.gradient(x)));
  return with_pieces;
}

double Landscape::stationarity(const Point& x, double tolerance) const {
  return distance_from_zero(subdifferential(x, tolerance));
}

bool Landscape::is_stationary(const Point& x, double delta, double epsilon) const {
  const double inside = 0.99 * delta;
  Polytope seen;
  const auto add = [&](const Point& y) {
    if (norm(sum(y, x, -1)) > inside) return;
    try {  // a kink that is this near lies in the ball too
      for (auto& corner : subdifferential(y, 1e-6 * delta)) seen.push_back(std::move(corner));
    } catch (const TooManyKinks&) {  // points beside it are seen all the same
    }
  };
  add(x);
  // From one kink that the ball meets to the next, again and again: towards where all of them meet.
  std::vector<Term> all = kinks;
  for (std::size_t i = 1; i < pieces.size(); ++i)  // where two are equal
    all.push_back({1, [&, i](const Point& y) { return pieces[i].value(y) - pieces[0].value(y); },
                   [&, i](const Point& y) { return sum(pieces[i].gradient(y), pieces[0].gradient(y), -1); }});
  constexpr int kSweeps = 100;
  auto met = x;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (const auto& kink : all) {
      const auto slope = kink.gradient(met);
      const double squared = dot(slope, slope);
      if (std::fabs(kink.value(x)) > inside * norm(kink.gradient(x)) || squared == 0) continue;
      met = sum(met, slope, -kink.value(met) / squared);
      if (sweep == 0 || sweep + 1 == kSweeps) add(met);
    }
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 64; ++i) {
    Point away(x.size());
    for (auto& each : away) each = normal(generator);
    const double length = norm(away);
    if (length > 0) add(sum(x, away, inside * (0.25 + 0.74 * (i % 4) / 3.0) / length));
  }
  return !seen.empty() && distance_from_zero(seen) <= epsilon;
}

bool Landscape::has_kink_within(const Point& x, double radius) const {
  for (const auto& kink : kinks) {
    const auto slope = norm(kink.gradient(x));
    if (std::fabs(kink.value(x)) <= radius * slope) return true;
  }
  if (pieces.size() > 1) {
    std::vector<double> values;
    for (const auto& piece : pieces) values.push_back(piece.value(x));
    const auto top = std::max_element(values.begin(), values.end()) - values.begin();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) == top) continue;
      const auto apart = sum(pieces[static_cast<std::size_t>(top)].gradient(x), pieces[i].gradient(x), -1);
      if (values[static_cast<std::size_t>(top)] - values[i] <= radius * norm(apart)) return true;
    }
  }
  if (cell > 0)
    for (const double each : x) {
      const double place = each / cell + 0.5;  // whole numbers are where it jumps
      if (std::fabs(place - std::nearbyint(place)) * cell <= radius) return true;
    }
  return false;
}

// ---- the collection ---------------------------------------------------------------------------------------

namespace {

/// |x − centre| along one axis.
Term axis_kink(std::size_t dimensions, std::size_t i, double centre, double weight = 1) {
  return {weight, [i, centre](const Point& x) { return x[i] - centre; },
          [dimensions, i](const Point&) { return unit(dimensions, i); }};
}

double half_square(const Point& x) { return 0.5 * dot(x, x); }

Landscape kinks(std::size_t) {
  Landscape f;
  f.formula = "|x−1| + |y−1| + (x² + y²)/2";
  f.start = {-1.5, 2};
  f.minimiser = Point{1, 1};
  f.lowest = 1;
  f.smooth = half_square;
  f.smooth_gradient = [](const Point& x) { return x; };
  f.kinks = {axis_kink(2, 0, 1), axis_kink(2, 1, 1)};
  return f;
}

Landscape valley(std::size_t) {
  Landscape f;
  f.formula = "10|y − x²| + |1 − x|";
  f.start = {-1.5, 2};
  f.minimiser = Point{1, 1};
  f.kinks = {{10, [](const Point& x) { return x[1] - x[0] * x[0]; },
              [](const Point& x) {
                return Point{-2 * x[0], 1};
              }},
             axis_kink(2, 0, 1)};
  return f;
}

/// The coordinates of b, spread over [−2, 2] in an order that mixes large and small.
Point spread(std::size_t dimensions) {
  Point b(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    b[i] = 4 * std::fmod(0.5 + static_cast<double>(i) * (std::numbers::phi - 1), 1) - 2;
  return b;
}

Landscape lasso(std::size_t dimensions) {
  constexpr double kWeight = 0.5;
  Landscape f;
  f.formula = "‖x − b‖²/2 + ‖x‖₁/2: least squares with orthonormal features";
  const auto b = spread(dimensions);
  f.start = Point(dimensions, 1.5);
  f.minimiser = Point(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    (*f.minimiser)[i] = sign(b[i]) * std::max(std::fabs(b[i]) - kWeight, 0.0);
  f.smooth = [b](const Point& x) { return half_square(sum(x, b, -1)); };
  f.smooth_gradient = [b](const Point& x) { return sum(x, b, -1); };
  for (std::size_t i = 0; i < dimensions; ++i) f.kinks.push_back(axis_kink(dimensions, i, 0, kWeight));
  f.lowest = f.value(*f.minimiser);
  return f;
}

Landscape chain(std::size_t dimensions) {
  Landscape f;
  f.formula = "|x₁| + |x₂ − x₁| + … + |x_d − x_{d−1}|";
  f.start = spread(dimensions);
  f.minimiser = Point(dimensions, 0);
  f.kinks.push_back(axis_kink(dimensions, 0, 0));
  for (std::size_t i = 1; i < dimensions; ++i)
    f.kinks.push_back({1, [i](const Point& x) { return x[i] - x[i - 1]; },
                       [dimensions, i](const Point&) {
                         auto slope = unit(dimensions, i);
                         slope[i - 1] = -1;
                         return slope;
                       }});
  return f;
}

Landscape max_affine(std::size_t dimensions) {
  Landscape f;
  f.formula = "the largest of d + 1 affine functions, whose slopes are the corners of a simplex around 0";
  f.start = spread(dimensions);
  f.minimiser = Point(dimensions, 0);
  // The unit vectors and the one that balances them.
  for (std::size_t i = 0; i <= dimensions; ++i) {
    const auto slope = i < dimensions ? unit(dimensions, i) : Point(dimensions, -1.0);
    f.pieces.push_back(
        {1, [slope](const Point& x) { return dot(slope, x); }, [slope](const Point&) { return slope; }});
  }
  return f;
}

Landscape quadratic(std::size_t dimensions) {
  Landscape f;
  f.formula = "Σ cᵢxᵢ²/2 with c from 1 to 10";
  f.start = spread(dimensions);
  f.minimiser = Point(dimensions, 0);
  Point c(dimensions, 1);
  for (std::size_t i = 1; i < dimensions; ++i)
    c[i] = 1 + 9 * static_cast<double>(i) / static_cast<double>(dimensions - 1);
  f.smooth = [c](const Point& x) {
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += 0.5 * c[i] * x[i] * x[i];
    return total;
  };
  f.smooth_gradient = [c](const Point& x) {
    auto slope = x;
    for (std::size_t i = 0; i < x.size(); ++i) slope[i] *= c[i];
    return slope;
  };
  return f;
}

Landscape staircase(std::size_t dimensions) {
  auto f = quadratic(dimensions);
  f.formula = "the quadratic of x rounded to multiples of 1/4, as in a quantized network";
  f.cell = 0.25;
  return f;
}

/// log(1 + eᵗ) without overflow.
double softplus_of(double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t))); }
double logistic_of(double t) { return t > 0 ? 1 / (1 + std::exp(-t)) : std::exp(t) / (1 + std::exp(t)); }

/// The kinks of |x| rounded off: (softplus(βx) + softplus(−βx))/β, the smooth twin of `lasso`'s penalty.
Landscape softplus(std::size_t dimensions) {
  constexpr double kSharpness = 10;
  Landscape f;
  f.formula = "Σ (softplus(10xᵢ) + softplus(−10xᵢ))/10: |x| with its kinks rounded off";
  f.start = spread(dimensions);
  f.minimiser = Point(dimensions, 0);
  f.smooth = [](const Point& x) {
    double total = 0;
    for (const double each : x)
      total += (softplus_of(kSharpness * each) + softplus_of(-kSharpness * each)) / kSharpness;
    return total;
  };
  f.smooth_gradient = [](const Point& x) {
    auto slope = x;
    for (auto& each : slope) each = 2 * logistic_of(kSharpness * each) - 1;
    return slope;
  };
  f.lowest = f.value(*f.minimiser);
  return f;
}

Landscape logistic(std::size_t dimensions) {
  Landscape f;
  f.formula = "Σ log(1 + e^(−bᵢxᵢ)) + ‖x‖²/20: logistic regression, one example a feature";
  const auto b = spread(dimensions);
  f.start = Point(dimensions, -1);
  f.smooth = [b](const Point& x) {
    double total = 0.05 * dot(x, x);
    for (std::size_t i = 0; i < x.size(); ++i) total += softplus_of(-b[i] * x[i]);
    return total;
  };
  f.smooth_gradient = [b](const Point& x) {
    auto slope = x;
    for (std::size_t i = 0; i < x.size(); ++i) slope[i] = 0.1 * x[i] - b[i] * logistic_of(-b[i] * x[i]);
    return slope;
  };
  // Each coordinate by itself, where its slope changes sign.
  Point lowest_at(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    double low = -20;
    double high = 20;
    for (int k = 0; k < 200; ++k) {
      const double middle = 0.5 * (low + high);
      (0.1 * middle - b[i] * logistic_of(-b[i] * middle) > 0 ? high : low) = middle;
    }
    lowest_at[i] = 0.5 * (low + high);
  }
  f.minimiser = lowest_at;
  f.lowest = f.value(lowest_at);
  return f;
}

struct Known {
  std::string name;
  Landscape (*make)(std::size_t dimensions);
  bool is_plane = false;  ///< of two dimensions only
};

const std::vector<Known>& known_landscapes() {
  static const std::vector<Known> known = {
      {"kinks", kinks, true},     {"valley", valley, true}, {"lasso", lasso},
      {"max_affine", max_affine}, {"chain", chain},         {"staircase", staircase},
      {"quadratic", quadratic},   {"softplus", softplus},   {"logistic", logistic},
  };
  return known;
}

}  // namespace

std::vector<std::string> landscape_names() {
  std::vector<std::string> names;
  for (const auto& each : known_landscapes()) names.push_back(each.name);
  return names;
}

Landscape make_landscape(const std::string& name, std::size_t dimensions) {
  for (const auto& each : known_landscapes()) {
    if (each.name != name) continue;
    if (each.is_plane && dimensions != 2)
      throw UsageError(
          fmt::format("'{}' has 2 dimensions and not {}; leave the dimension out.", name, dimensions));
    if (dimensions < 2)
      throw UsageError(
          fmt::format("a landscape of {} dimensions has nothing to show; give 2 or more.", dimensions));
    auto landscape = each.make(dimensions);
    landscape.name = name;
    return landscape;
  }
  throw UsageError(
      fmt::format("there is no landscape '{}'{}", name, base::suggestion(name, landscape_names())));
}

}  // namespace sadam::lab
