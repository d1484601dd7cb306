#include "reproduce/earlier_runs.h"

#include <filesystem>

#include "base/usage_error.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"

namespace sadam::reproduce {
namespace {

std::string options_for(const std::vector<train::Difference>& differences) {
  std::string options;
  for (const auto& difference : differences)
    options += (options.empty() ? "--set " : " --set ") + difference.field + "=" + difference.first;
  return options;
}

}  // namespace

bool is_begun(const PlannedRun& run) { return std::filesystem::exists(train::RunPaths{run.folder}.recipe()); }

void check_same_recipe(const PlannedRun& run, Purpose purpose) {
  auto there = train::recipe_of(train::RunPaths{run.folder});
  // What does not decide anything here.
  there.train.threads = run.recipe.train.threads;
  there.control.brake = run.recipe.control.brake;
  there.control.run = run.recipe.control.run;
  const auto differences = train::differences(there, run.recipe);
  if (differences.empty()) return;
  const auto& first = differences.front();
  throw UsageError(run.folder.string() + " was made with " + first.field + " = " + first.first +
                   ", and now " + first.second + " is asked for: " +
                   (purpose == Purpose::show ? "repeat the options that it was made with (" +
                                                   options_for(differences) + "), or choose another --root."
                                             : "choose another --root, or remove it."));
}

void check_same_recipes(const Plan& plan, Purpose purpose) {
  for (const auto& run : plan.runs)
    if (is_begun(run)) check_same_recipe(run, purpose);
}

}  // namespace sadam::reproduce
