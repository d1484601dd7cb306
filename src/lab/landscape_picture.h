// Landscapes as pictures: lines of equal value, kinks, paths, brakes, Clarke's set at a point.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lab/scene.h"
#include "report/picture.h"

namespace sadam::lab {

/// Everything in one picture: paths, a close-up, f and brake by step, Clarke's set.
report::Picture to_picture(const Scene& scene);

// ---- lines of equal value of a function of the plane (contours.cpp) ---------------------------------------

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

// ---- parts, for pictures that are composed otherwise -----------------------------------------------------

/// Rows of legend for these optimizers, in the styles that their paths have.
std::vector<report::LegendKey> legend_of(const Scene& scene);
report::LegendKey ideal_key(const Flow& ideal);

/// An empty panel of the plane, `part` of its row wide: lines of equal value and kinks. The window is widened
/// until both axes have one scale.
report::PicturePanel plane_panel(const Landscape& f, Window window, double part, double height);
/// A window that shows the start, the minimiser and the paths, those that run away apart.
Window window_of(const Scene& scene);
/// Around the minimiser, as large as the last steps of the optimizers need; none if they all stay away.
std::optional<Window> close_up_of(const Scene& scene);

void add_ideal(report::PicturePanel& panel, const Scene& scene);
/// `which`: an index into the descents. `thin`: for a close-up.
void add_path(report::PicturePanel& panel, const Scene& scene, std::size_t which, bool thin = false);
/// Discs along the path of an S-Adam, the larger the harder it brakes.
void add_brakes(report::PicturePanel& panel, const Scene& scene, std::size_t which);
void add_start_and_minimum(report::PicturePanel& panel, const Scene& scene);

report::PicturePanel excess_panel(const Scene& scene);
report::PicturePanel clarke_panel(const Landscape& f, const Point& at, double part, double height);

}  // namespace sadam::lab
