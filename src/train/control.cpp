#include "train/control.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/usage_error.h"
#include "data/loader.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"
#include "train/trainer.h"

namespace sadam::train {
namespace {

std::vector<double> brakes_of_run(const std::string& folder) {
  std::vector<double> brakes;
  for (const auto& step : read_events(RunPaths{folder}.events()).steps) brakes.push_back(step.brake);
  return brakes;
}

}  // namespace

void settle_control(Recipe& recipe) {
  auto& control = recipe.control;
  if (control.kind != "matched" && control.kind != "shuffled") return;
  const RunPaths paths{control.run};
  if (!std::filesystem::exists(paths.recipe()))
    throw UsageError("control.run: there is no run in " + control.run +
                     ": name the folder of a finished run of sadam.");
  const auto controlled = recipe_of(paths);
  if (controlled.optimizer.name != "sadam")
    throw UsageError("control.run: the run in " + control.run + " is of " + controlled.optimizer.name +
                     ", which has no brakes: name a run of sadam.");
  const auto epochs = read_events(paths.events()).epochs.size();
  if (static_cast<std::int64_t>(epochs) < controlled.train.epochs)
    throw UsageError("control.run: the run in " + control.run +
                     " is not finished: go on with it first (sadam train --resume " + control.run + ").");
  // Without the correction the first steps are three times as long, which has nothing to do with a brake.
  recipe.optimizer.bias_correction = controlled.optimizer.bias_correction;
  if (control.kind != "matched") return;
  const auto brakes = brakes_of_run(control.run);
  control.brake = std::accumulate(brakes.begin(), brakes.end(), 0.0) / static_cast<double>(brakes.size());
}

std::vector<double> brakes_of_control(const Recipe& recipe) {
  const auto& control = recipe.control;
  if (control.kind == "none") return {};
  if (control.kind != "shuffled") return {control.brake};
  const auto brakes = brakes_of_run(control.run);
  const auto order = data::shuffled_order(brakes.size(), static_cast<std::uint64_t>(recipe.seed), 0);
  std::vector<double> shuffled(brakes.size());
  std::transform(order.begin(), order.end(), shuffled.begin(), [&](auto i) { return brakes[i]; });
  return shuffled;
}

}  // namespace sadam::train
