// Optimizers on a landscape, the ideal path beside them, and what came of it as tables and sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/descent.h"
#include "lab/flow.h"
#include "lab/landscape.h"
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

/// A row for each optimizer: how far above the minimum it ended, how far from the minimiser, dist(0, ∂f)
/// there, its mean brake, how it chattered in its last 50 steps.
report::TextTable to_table(const Scene& scene);
/// A sentence on its last columns; "" where they are empty.
std::string about_table(const Scene& scene);

/// A row for each optimizer and step, for other programs.
report::TextTable to_points(const Scene& scene);

/// What was run, how accurate the ideal path is, and where S-Adam braked: sentences.
std::vector<std::string> in_words(const Scene& scene);

/// f(point) − f*.
double excess(const Landscape& f, const Point& point);
/// Its name, with the brake of a `matched` control: "AdamW matched: × 0.52".
std::string shown_name(const Descent& descent);
/// "(−1.5, 2)", of so many coordinates at most.
std::string coordinates(const Point& point, std::size_t most = 4);
/// The power of ten above a small number: "1e-7".
std::string power_above(double value);

}  // namespace sadam::lab
