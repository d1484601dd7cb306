// The learning rate from step to step.
#pragma once

#include <cstdint>
#include <string>

#include "train/recipe/recipe.h"

namespace sadam::train {

struct RunLength {
  std::int64_t steps_per_epoch = 1;
  std::int64_t epochs = 1;

  std::int64_t steps() const { return steps_per_epoch * epochs; }
};

/// What the learning rate is multiplied by in step `step` (from 0). Warm-up rises linearly and reaches 1 with
/// its last step; the other schedules begin after it. `cosine` reaches `floor` with the last step of the run.
double schedule_factor(const ScheduleRecipe& schedule, std::int64_t step, const RunLength& length);

/// A sentence if the warm-up is longer than the run, so that the learning rate never gets to where it should;
/// "" otherwise.
std::string warmup_beyond_the_run(const ScheduleRecipe& schedule, const RunLength& length);

}  // namespace sadam::train
