// Landscapes as pictures and in words: lines of equal value, kinks, paths, brakes, Clarke's set at a point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/contours.h"
#include "lab/descent.h"
#include "lab/flow.h"
#include "lab/landscape.h"
#include "report/picture.h"
#include "report/text_table.h"

namespace sadam::lab {

/// A landscape, what went down it, and what else is to be shown. In more than two dimensions a picture shows
/// the first two: the plane through the minimiser, and the paths seen from above.
struct Scene {
  Landscape f;
  Point start;
  std::vector<Descent> descents;
  std::optional<Flow> ideal;
  std::string no_ideal;     ///< why there is none
  std::optional<Point> at;  ///< where Clarke's set is shown
};

/// Runs the contestants and the flow. Without `at` Clarke's set is shown at the minimiser, unless f is
/// smooth.
Scene make_scene(Landscape f, const Point& start, std::int64_t steps,
                 const std::vector<Contestant>& contestants, std::optional<Point> at);

/// Everything in one picture: paths, a close-up, f and brake by step, Clarke's set.
report::Picture to_picture(const Scene& scene);

/// A row for each optimizer: how far above the minimum it ended, how far from the minimiser, dist(0, ∂f)
/// there, its mean brake.
report::TextTable to_table(const Scene& scene);

/// A row for each optimizer and step, for other programs.
report::TextTable to_points(const Scene& scene);

/// What was run, how accurate the ideal path is, and where S-Adam braked: sentences.
std::vector<std::string> in_words(const Scene& scene);

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
report::PicturePanel brake_panel(const Scene& scene);
report::PicturePanel clarke_panel(const Landscape& f, const Point& at, double part, double height);

}  // namespace sadam::lab
