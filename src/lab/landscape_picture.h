// Landscapes as pictures: lines of equal value, kinks, paths, brakes, Clarke's set at a point.
#pragma once

#include <optional>
#include <vector>

#include "lab/contours.h"
#include "lab/scene.h"
#include "report/picture.h"

namespace sadam::lab {

/// Everything in one picture: paths, a close-up, f and brake by step, Clarke's set.
report::Picture to_picture(const Scene& scene);

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
