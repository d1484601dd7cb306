// Optimizers on a landscape, step by step by the library's own classes; the ideal path beside them; and what
// came of it as tables and sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/landscape.h"
#include "report/text_table.h"
#include "train/chatter.h"
#include "train/recipe/recipe.h"

namespace sadam::lab {

// ---- who goes down ----------------------------------------------------------------------------------------

/// An optimizer with its options, its schedule, and the control that it is. A `matched` or `shuffled` control
/// takes its brakes from the last S-Adam before it.
struct Contestant {
  std::string name;  ///< "S-Adam k=8"
  train::Recipe recipe;
};

/// Contestants as words: "adamw", "prox_sgd lr=0.01", "sadam k=8", "sadam paper", "sadam directions=step
/// statistic=residual", "adamw cosine"; "matched", "shuffled" and "cosine" alone are AdamW's. `sets` are
/// changes to every recipe, as `--set` has them. What nobody sets is a recipe's default, but for a learning
/// rate of 0.05 and neither decay nor L1 penalty, which would move the minimum. Throws a UsageError for a
/// word that is nothing of this, with the nearest that is, for a control without an S-Adam before it, and for
/// a field that decides nothing here.
std::vector<Contestant> contestants_named(const std::vector<std::string>& words,
                                          const std::vector<std::string>& sets, std::int64_t seed);

inline constexpr std::int64_t kChatterSteps = 50;

struct Descent {
  Contestant of;
  std::vector<Point> points;                    ///< where it was before each step, and after the last
  std::vector<double> brakes;                   ///< of each step; 1 where there is none
  std::int64_t skipped = 0;                     ///< steps whose loss or gradient was not finite
  std::optional<train::Chattering> chattering;  ///< in its last `kChatterSteps`, if it has so many

  /// It is an S-Adam, whose brake answers to the landscape.
  bool probes() const { return of.recipe.optimizer.name == "sadam"; }
  double mean_brake() const;
};

/// Each contestant from the same point, in double precision.
std::vector<Descent> descend(const Landscape& f, const Point& start, std::int64_t steps,
                             const std::vector<Contestant>& contestants);

// ---- what there is to see ---------------------------------------------------------------------------------

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
