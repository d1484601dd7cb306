#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <stdexcept>

#include "base/statistics.h"
#include "base/usage_error.h"
#include "data/loader.h"
#include "train/recipe/source.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::train {
namespace {

std::vector<double> brakes_of_run(const std::string& folder) {
  std::vector<double> brakes;
  for (const auto& step : read_events(RunPaths{folder}.events()).steps) brakes.push_back(step.brake);
  return brakes;
}

}  // namespace

double schedule_factor(const ScheduleRecipe& schedule, std::int64_t step, const RunLength& length) {
  const auto kind = value_named<Schedule>(schedule.name, "schedule.name");
  if (step < schedule.warmup) return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup);
  const auto after_warmup = static_cast<double>(step - schedule.warmup);
  switch (kind) {
    case Schedule::constant:
      return 1;
    case Schedule::cosine: {
      const auto last = static_cast<double>(std::max<std::int64_t>(length.steps() - 1 - schedule.warmup, 1));
      const double turned = std::min(after_warmup / last, 1.0) * std::numbers::pi;
      return schedule.floor + (1 - schedule.floor) * 0.5 * (1 + std::cos(turned));
    }
    case Schedule::step: {
      const std::int64_t drops = step / (schedule.every * length.steps_per_epoch);
      return std::pow(schedule.factor, static_cast<double>(drops));
    }
    case Schedule::inverse_power:
      return std::pow(1 + after_warmup, -schedule.power);
  }
  throw std::logic_error("a schedule that train/recipe/recipe.h does not list");
}

std::string warmup_beyond_the_run(const ScheduleRecipe& schedule, const RunLength& length) {
  if (schedule.warmup <= length.steps()) return "";
  const auto reached = static_cast<double>(length.steps()) / static_cast<double>(schedule.warmup);
  return fmt::format(
      "schedule.warmup is {} steps and the whole run has {}: "
      "the learning rate comes to {:.2g} of optimizer.lr and no further.",
      schedule.warmup, length.steps(), reached);
}

void settle_control(Recipe& recipe) {
  auto& control = recipe.control;
  const auto kind = control_of(recipe);
  if (!has_brakes_of_a_run(kind)) return;
  const RunPaths paths{control.run};
  if (!std::filesystem::exists(paths.recipe()))
    throw UsageError(fmt::format(
        "control.run: there is no run in {}: name the folder of a finished run of sadam.", control.run));
  const auto controlled = recipe_of(paths);
  if (optimizer_of(controlled) != OptimizerKind::sadam)
    throw UsageError(
        fmt::format("control.run: the run in {} is of {}, which has no brakes: name a run of sadam.",
                    control.run, controlled.optimizer.name));
  const auto epochs = read_events(paths.events()).epochs.size();
  if (static_cast<std::int64_t>(epochs) < controlled.train.epochs)
    throw UsageError(fmt::format(
        "control.run: the run in {} is not finished: go on with it first (sadam train --resume {}).",
        control.run, control.run));
  // Without the correction the first steps are three times as long, which has nothing to do with a brake.
  recipe.optimizer.bias_correction = controlled.optimizer.bias_correction;
  if (kind == Control::replayed &&
      (controlled.train.epochs != recipe.train.epochs || controlled.train.batch != recipe.train.batch))
    throw UsageError(fmt::format(
        "control.run: the run in {} took other steps (train.epochs, train.batch): a 'replayed' control needs "
        "as many.",
        control.run));
  if (kind != Control::matched) return;
  control.brake = base::mean(brakes_of_run(control.run));
}

std::vector<double> brakes_of_control(const Recipe& recipe) {
  switch (control_of(recipe)) {
    case Control::none:
      return {};
    case Control::constant:
    case Control::matched:
      return {recipe.control.brake};
    case Control::replayed:
      return brakes_of_run(recipe.control.run);
    case Control::shuffled: {
      const auto brakes = brakes_of_run(recipe.control.run);
      const auto order = data::shuffled_order(brakes.size(), static_cast<std::uint64_t>(recipe.seed), 0);
      std::vector<double> shuffled(brakes.size());
      std::transform(order.begin(), order.end(), shuffled.begin(), [&](auto i) { return brakes[i]; });
      return shuffled;
    }
  }
  throw std::logic_error("a control that train/recipe/recipe.h does not list");
}

}  // namespace sadam::train
