#include "lab/landscape.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <cmath>

namespace sadam::lab {
namespace {

constexpr double kOnKink = 1e-10;     ///< how near a kink counts as met, as a distance
constexpr double kStationary = 1e-9;  ///< speed at which the flow rests
constexpr double kBeyond = 1e-9;      ///< how far a multiplier may leave its range
constexpr int kMostEvents = 100'000;

/// On which side of each kink the flow is, and which pieces of the maximum count. While this stays the same,
/// the flow is smooth.
struct Mode {
  std::vector<int> signs;           ///< of each kink; 0: it slides along it
  std::vector<std::size_t> pieces;  ///< the largest; the flow keeps them equal

  bool operator==(const Mode&) const = default;
};

/// min ‖A s − b‖ by the normal equations; columns that depend on others get 0.
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

class Integration {
 public:
  Integration(const Landscape& f, const Point& start) : f_(f), x_(start) { settle(); }

  const Point& point() const { return x_; }
  bool at_rest() const { return norm(velocity(x_, mode_)) < kStationary; }

  /// Goes on for `time`; calls `met` at each event on the way.
  template <class Met>
  void advance(double time, const Met& met) {
    double left = time;
    while (left > 0 && !at_rest()) {
      const auto there = rule(left);
      if (is_valid(there)) {
        x_ = on_kinks(there);
        return;
      }
      // The first moment that is not valid.
      double low = 0;
      double high = left;
      for (int i = 0; i < 100 && high - low > 1e-15 * left; ++i) {
        const double middle = 0.5 * (low + high);
        (is_valid(rule(middle)) ? low : high) = middle;
      }
      x_ = rule(high);
      left -= high;
      leave_kinks();
      settle();
      met(time - left);
      if (++events_ > kMostEvents)
        throw Error(fmt::format("the flow of '{}' meets kinks without end: try another start.", f_.name));
    }
  }

 private:
  /// The parts of ∂f in a mode: what is common, and the directions across the kinks it slides along.
  struct Parts {
    Point common;
    std::vector<Point> across;
  };

  Parts parts_at(const Point& x, const Mode& mode) const {
    Parts parts{f_.smooth_gradient ? f_.smooth_gradient(x) : Point(x.size(), 0), {}};
    for (std::size_t j = 0; j < f_.kinks.size(); ++j) {
      const auto slope = f_.kinks[j].gradient(x);
      if (mode.signs[j] == 0)
        parts.across.push_back(sum(Point(x.size(), 0), slope, f_.kinks[j].weight));
      else
        parts.common = sum(parts.common, slope, f_.kinks[j].weight * mode.signs[j]);
    }
    if (mode.pieces.empty()) return parts;
    const auto first = f_.pieces[mode.pieces.front()].gradient(x);
    parts.common = sum(parts.common, first);
    for (std::size_t k = 1; k < mode.pieces.size(); ++k)
      parts.across.push_back(sum(f_.pieces[mode.pieces[k]].gradient(x), first, -1));
    return parts;
  }

  /// What each part is multiplied by in the shortest element.
  static std::vector<double> multipliers(const Parts& parts) {
    return least_squares(parts.across, sum(Point(parts.common.size(), 0), parts.common, -1));
  }

  Point velocity(const Point& x, const Mode& mode) const {
    const auto parts = parts_at(x, mode);
    const auto s = multipliers(parts);
    auto v = sum(Point(x.size(), 0), parts.common, -1);
    for (std::size_t i = 0; i < s.size(); ++i) v = sum(v, parts.across[i], -s[i]);
    return v;
  }

  Point rule(double dt) const {
    const auto k1 = velocity(x_, mode_);
    const auto k2 = velocity(sum(x_, k1, dt / 2), mode_);
    const auto k3 = velocity(sum(x_, k2, dt / 2), mode_);
    const auto k4 = velocity(sum(x_, k3, dt), mode_);
    return sum(sum(sum(sum(x_, k1, dt / 6), k2, dt / 3), k3, dt / 3), k4, dt / 6);
  }

  double top_of(const Point& x, const std::vector<std::size_t>& pieces) const {
    double largest = -INFINITY;
    for (const auto k : pieces) largest = std::max(largest, f_.pieces[k].value(x));
    return largest;
  }

  bool is_valid(const Point& x) const {
    for (std::size_t j = 0; j < f_.kinks.size(); ++j)
      if (mode_.signs[j] != 0 &&
          mode_.signs[j] * f_.kinks[j].value(x) < -kOnKink * norm(f_.kinks[j].gradient(x)))
        return false;
    if (!mode_.pieces.empty()) {
      const double largest = top_of(x, mode_.pieces);
      for (const auto& piece : f_.pieces)
        if (piece.value(x) > largest + kOnKink * norm(piece.gradient(x))) return false;
    }
    return beyond_range(x) == Beyond{};
  }

  /// The kinks and pieces whose multiplier has left its range: there the flow leaves.
  struct Beyond {
    std::vector<std::pair<std::size_t, int>> kinks;  ///< with the side
    std::vector<std::size_t> pieces;

    bool operator==(const Beyond&) const = default;
  };
  Beyond beyond_range(const Point& x) const {
    Beyond beyond;
    const auto s = multipliers(parts_at(x, mode_));
    std::size_t i = 0;
    for (std::size_t j = 0; j < mode_.signs.size(); ++j) {
      if (mode_.signs[j] != 0) continue;
      if (std::fabs(s[i]) > 1 + kBeyond) beyond.kinks.emplace_back(j, s[i] > 0 ? 1 : -1);
      ++i;
    }
    double first = 1;
    for (std::size_t k = 1; k < mode_.pieces.size(); ++k, ++i) {
      if (s[i] < -kBeyond) beyond.pieces.push_back(mode_.pieces[k]);
      first -= s[i];
    }
    if (!mode_.pieces.empty() && first < -kBeyond) beyond.pieces.push_back(mode_.pieces.front());
    return beyond;
  }

  void leave_kinks() {
    const auto beyond = beyond_range(x_);
    left_.assign(f_.kinks.size(), 0);
    for (const auto& [j, side] : beyond.kinks) left_[j] = side;
    left_pieces_ = beyond.pieces;
  }

  /// The mode at x: which kinks are met, and which of those the shortest element of ∂f makes it leave.
  void settle() {
    left_.resize(f_.kinks.size(), 0);
    const auto shortest = nearest_to_zero(f_.subdifferential(x_, 10 * kOnKink));
    const double speed = norm(shortest);
    const auto along = [&](const Point& slope) { return -dot(slope, shortest); };
    mode_ = {std::vector<int>(f_.kinks.size(), 0), {}};
    for (std::size_t j = 0; j < f_.kinks.size(); ++j) {
      const double h = f_.kinks[j].value(x_);
      const auto slope = f_.kinks[j].gradient(x_);
      const double size = norm(slope);
      if (std::fabs(h) > 10 * kOnKink * size)
        mode_.signs[j] = h > 0 ? 1 : -1;
      else if (std::fabs(along(slope)) > 1e-7 * size * std::max(speed, kStationary))
        mode_.signs[j] = along(slope) > 0 ? 1 : -1;
      else
        mode_.signs[j] = left_[j];
    }
    if (f_.pieces.empty()) return;
    std::vector<std::size_t> all(f_.pieces.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
    const double largest = top_of(x_, all);
    double steepest = 0;
    double fastest = -INFINITY;
    for (const auto k : all) {
      const auto slope = f_.pieces[k].gradient(x_);
      steepest = std::max(steepest, norm(slope));
      if (f_.pieces[k].value(x_) >= largest - 20 * kOnKink * norm(slope))
        fastest = std::max(fastest, along(slope));
    }
    for (const auto k : all)
      if (f_.pieces[k].value(x_) >= largest - 20 * kOnKink * steepest &&
          along(f_.pieces[k].gradient(x_)) >= fastest - 1e-7 * steepest * std::max(speed, kStationary) &&
          std::find(left_pieces_.begin(), left_pieces_.end(), k) == left_pieces_.end())
        mode_.pieces.push_back(k);
    if (mode_.pieces.empty())
      mode_.pieces.push_back(*std::max_element(all.begin(), all.end(), [&](auto a, auto b) {
        return f_.pieces[a].value(x_) < f_.pieces[b].value(x_);
      }));
  }

  /// Back onto the kinks it slides along, which the rule leaves by its own error.
  Point on_kinks(Point x) const {
    const auto pull = [&x](double value, const Point& slope) {
      const double squared = dot(slope, slope);
      if (squared > 0) x = sum(x, slope, -value / squared);
    };
    for (int sweep = 0; sweep < 3; ++sweep) {
      for (std::size_t j = 0; j < f_.kinks.size(); ++j)
        if (mode_.signs[j] == 0) pull(f_.kinks[j].value(x), f_.kinks[j].gradient(x));
      for (std::size_t k = 1; k < mode_.pieces.size(); ++k) {
        const auto& a = f_.pieces[mode_.pieces[k]];
        const auto& b = f_.pieces[mode_.pieces.front()];
        pull(a.value(x) - b.value(x), sum(a.gradient(x), b.gradient(x), -1));
      }
    }
    return x;
  }

  const Landscape& f_;
  Point x_;
  Mode mode_;
  std::vector<int> left_;  ///< the side to which a kink was left at the last event; 0: it was not
  std::vector<std::size_t> left_pieces_;
  int events_ = 0;
};

}  // namespace

Flow subgradient_flow(const Landscape& f, const Point& start, double time, double step) {
  if (f.cell > 0)
    throw Error(fmt::format("'{}' is flat between its jumps, so that no flow goes down it.", f.name));
  Integration fine(f, start);
  Integration coarse(f, start);
  Flow flow{{0}, {start}, 0, false};
  double now = 0;
  const auto note = [&](double since) {
    flow.times.push_back(now + since);
    flow.points.push_back(fine.point());
  };
  while (now < time && !flow.at_rest) {
    coarse.advance(2 * step, [](double) {});
    for (int half = 0; half < 2; ++half) {
      fine.advance(step, note);
      note(step);
      now += step;
    }
    flow.error = std::max(flow.error, norm(sum(fine.point(), coarse.point(), -1)));
    flow.at_rest = fine.at_rest();
  }
  flow.error += 20 * kOnKink;
  return flow;
}

}  // namespace sadam::lab
