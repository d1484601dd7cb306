// Optimizers on a landscape: the library's own classes, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/landscape.h"
#include "train/chatter.h"
#include "train/recipe/recipe.h"

namespace sadam::lab {

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

  bool probes() const;  ///< it is an S-Adam, whose brake answers to the landscape
  double mean_brake() const;
};

/// Each contestant from the same point, in double precision.
std::vector<Descent> descend(const Landscape& f, const Point& start, std::int64_t steps,
                             const std::vector<Contestant>& contestants);

}  // namespace sadam::lab
