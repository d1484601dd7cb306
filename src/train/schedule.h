// What multiplies the step: the schedule of the learning rate, and the brakes that a control takes from the
// run it controls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/recipe/recipe.h"

namespace sadam::train {

struct RunLength {
  std::int64_t steps_per_epoch = 1;
  std::int64_t epochs = 1;

  std::int64_t steps() const { return steps_per_epoch * epochs; }
};

/// What the learning rate is multiplied by in step `step` (from 0). Warm-up rises linearly and reaches 1 with
/// its last step; the other schedules begin after it. `cosine` reaches `floor` with the last step of the run.
/// Throws an Error for a schedule that does not exist.
double schedule_factor(const ScheduleRecipe& schedule, std::int64_t step, const RunLength& length);

/// A sentence if the warm-up is longer than the run, so that the learning rate never gets to where it should;
/// "" otherwise.
std::string warmup_beyond_the_run(const ScheduleRecipe& schedule, const RunLength& length);

/// Before a control begins: checks that the run it names is a finished S-Adam run, and puts the mean brake of
/// a `matched` control into the recipe, so that it is on record and the other run is needed no more.
/// Throws an Error for a control that does not exist.
void settle_control(Recipe& recipe);

/// The brakes that `recipe.control` asks for; empty if none. Those of `shuffled` and `replayed` controls are
/// read from the run that they name, in their first process; checkpoints keep them after that.
std::vector<double> brakes_of_control(const Recipe& recipe);

}  // namespace sadam::train
