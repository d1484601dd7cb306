#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sadam::train {

double schedule_factor(const ScheduleRecipe& schedule, std::int64_t step, const RunLength& length) {
  if (step < schedule.warmup) return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  const auto after_warmup = static_cast<double>(step - schedule.warmup);
  if (schedule.name == "cosine") {
    const auto last = static_cast<double>(std::max<std::int64_t>(length.steps() - 1 - schedule.warmup, 1));
    const double turned = std::min(after_warmup / last, 1.0) * std::numbers::pi;
    return schedule.floor + (1 - schedule.floor) * 0.5 * (1 + std::cos(turned));
  }
  if (schedule.name == "step") {
    const std::int64_t drops = step / (schedule.every * length.steps_per_epoch);
    return std::pow(schedule.factor, static_cast<double>(drops));
  }
  if (schedule.name == "inverse_power") return std::pow(1 + after_warmup, -schedule.power);
  return 1;
}

std::string warmup_beyond_the_run(const ScheduleRecipe& schedule, const RunLength& length) {
  if (schedule.warmup <= length.steps()) return "";
  const auto reached = static_cast<double>(length.steps()) / static_cast<double>(schedule.warmup);
  return fmt::format(
      "schedule.warmup is {} steps and the whole run has {}: "
      "the learning rate comes to {:.2g} of optimizer.lr and no further.",
      schedule.warmup, length.steps(), reached);
}

}  // namespace sadam::train
