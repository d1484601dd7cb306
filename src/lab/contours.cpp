// Lines of equal value, by marching squares.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "lab/landscape_picture.h"

namespace sadam::lab {

Heights::Heights(const PlaneFunction& f, const Window& window, std::size_t across, std::size_t up)
    : window_(window), across_(across), up_(up) {
  values_.reserve((across + 1) * (up + 1));
  for (std::size_t j = 0; j <= up; ++j)
    for (std::size_t i = 0; i <= across; ++i) {
      const double s = static_cast<double>(i) / static_cast<double>(across);
      const double t = static_cast<double>(j) / static_cast<double>(up);
      values_.push_back(f(window.left + s * (window.right - window.left),
                          window.bottom + t * (window.top - window.bottom)));
    }
}

double Heights::lowest() const { return *std::min_element(values_.begin(), values_.end()); }
double Heights::highest() const { return *std::max_element(values_.begin(), values_.end()); }

namespace {

/// Joins segments, given by the edges of the grid at which they end, to lines. Every edge has two ends at
/// most, so that a line goes on in one way only.
class Segments {
 public:
  void add(std::uint64_t from, std::uint64_t to) {
    neighbours_[from].push_back(to);
    neighbours_[to].push_back(from);
    order_.push_back(from);
  }

  template <class PointOf>
  std::vector<Polyline> join(const PointOf& point_of) {
    std::vector<Polyline> lines;
    // Open lines first, from their ends; what is left goes around.
    for (const bool open : {true, false})
      for (const auto start : order_) {
        const auto& ways = neighbours_[start];
        if (ways.empty() || (open && ways.size() != 1)) continue;
        lines.push_back(follow(start, point_of));
      }
    return lines;
  }

 private:
  template <class PointOf>
  Polyline follow(std::uint64_t at, const PointOf& point_of) {
    Polyline line{point_of(at)};
    while (!neighbours_[at].empty()) {
      const auto next = neighbours_[at].back();
      neighbours_[at].pop_back();
      auto& back = neighbours_[next];
      back.erase(std::find(back.begin(), back.end(), at));
      line.push_back(point_of(next));
      at = next;
    }
    return line;
  }

  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> neighbours_;
  std::vector<std::uint64_t> order_;
};

}  // namespace

std::vector<Polyline> Heights::contour(double level) const {
  // An edge is the corner that it begins at, and whether it goes up: 2·(corner) + up.
  const auto edge = [this](std::size_t i, std::size_t j, bool up) {
    return 2 * static_cast<std::uint64_t>(j * (across_ + 1) + i) + (up ? 1 : 0);
  };
  Segments segments;
  for (std::size_t j = 0; j < up_; ++j)
    for (std::size_t i = 0; i < across_; ++i) {
      const std::array<double, 4> corners = {at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)};
      if (!std::all_of(corners.begin(), corners.end(), [](double v) { return std::isfinite(v); })) continue;
      const std::array<std::uint64_t, 4> sides = {edge(i, j, false), edge(i + 1, j, true),
                                                  edge(i, j + 1, false), edge(i, j, true)};
      std::vector<std::uint64_t> crossed;
      for (std::size_t k = 0; k < 4; ++k)
        if ((corners[k] >= level) != (corners[(k + 1) % 4] >= level)) crossed.push_back(sides[k]);
      if (crossed.size() == 2) segments.add(crossed[0], crossed[1]);
      if (crossed.size() < 4) continue;
      const double middle = (corners[0] + corners[1] + corners[2] + corners[3]) / 4;
      const bool with_first = (middle >= level) == (corners[0] >= level);
      segments.add(crossed[0], crossed[with_first ? 1 : 3]);
      segments.add(crossed[2], crossed[with_first ? 3 : 1]);
    }
  return segments.join([&](std::uint64_t which) -> Point {
    const bool up = which % 2 == 1;
    const auto i = which / 2 % (across_ + 1);
    const auto j = which / 2 / (across_ + 1);
    const double here = at(i, j);
    const double there = up ? at(i, j + 1) : at(i + 1, j);
    const double part = (level - here) / (there - here);
    const double s = (static_cast<double>(i) + (up ? 0 : part)) / static_cast<double>(across_);
    const double t = (static_cast<double>(j) + (up ? part : 0)) / static_cast<double>(up_);
    return {window_.left + s * (window_.right - window_.left),
            window_.bottom + t * (window_.top - window_.bottom)};
  });
}

}  // namespace sadam::lab
