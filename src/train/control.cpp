// What a control takes from the run it controls.
#include <algorithm>
#include <numeric>

#include "base/usage_error.h"
#include "data/loader.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"
#include "train/stepper.h"

namespace sadam::train {
namespace {

std::vector<double> brakes_of_run(const std::string& folder) {
  const auto events = read_events(RunPaths{folder}.events());
  std::vector<double> brakes;
  for (const auto& step : events.steps) brakes.push_back(step.brake);
  if (brakes.empty())
    throw Error("control.run: the run in " + folder + " has no steps yet: finish it first.");
  return brakes;
}

}  // namespace

std::vector<double> brakes_of_control(Recipe& recipe) {
  auto& control = recipe.control;
  if (control.kind == "none") return {};
  if (control.kind == "constant") return {control.brake};
  auto brakes = brakes_of_run(control.run);
  if (control.kind == "matched") {
    control.brake = std::accumulate(brakes.begin(), brakes.end(), 0.0) / static_cast<double>(brakes.size());
    return {control.brake};
  }
  const auto order = data::shuffled_order(brakes.size(), static_cast<std::uint64_t>(recipe.seed), 0);
  std::vector<double> shuffled(brakes.size());
  std::transform(order.begin(), order.end(), shuffled.begin(), [&](auto i) { return brakes[i]; });
  return shuffled;
}

}  // namespace sadam::train
