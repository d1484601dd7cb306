#include "reproduce/execute.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "train/checkpoint.h"
#include "train/progress.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::reproduce {
namespace {

// To the last checkpoint: events alone may be ahead of it.
bool is_finished(const PlannedRun& run) {
  const auto position = train::saved_position(train::RunPaths{run.folder});
  return position && position->epoch >= run.recipe.train.epochs;
}

// Unlike runs are never put into one table: an earlier run must have been made by the same recipe, save for
// what does not decide anything here.
void check_same_recipe(const PlannedRun& run) {
  auto there = train::recipe_of(train::RunPaths{run.folder});
  there.title = run.recipe.title;
  there.data.root = run.recipe.data.root;
  there.train.threads = run.recipe.train.threads;
  there.train.checkpoint_every = run.recipe.train.checkpoint_every;
  there.control.brake = run.recipe.control.brake;
  there.control.run = run.recipe.control.run;
  if (there == run.recipe) return;
  const auto old_values = report::recipe_values(there);
  const auto new_values = report::recipe_values(run.recipe);
  for (std::size_t i = 0; i < new_values.size(); ++i)
    if (old_values[i].cell.text != new_values[i].cell.text)
      throw UsageError(run.folder.string() + " was made with " + new_values[i].name + " = " +
                       old_values[i].cell.text + ", and now " + new_values[i].cell.text +
                       " is asked for: choose another --root, or remove it.");
  throw UsageError(run.folder.string() + " was made by another recipe: choose another --root, or remove it.");
}

// Why a column cannot be run, or "".
std::string what_is_missing(const train::Recipe& recipe, train::DataSets& data) {
  const auto& weights = recipe.model.weights;
  if (!weights.empty() && !std::filesystem::exists(weights))
    return weights +
           " is not there: get it with 'sadam data fetch resnet18', or give other weights with --set "
           "model.weights=FILE.";
  try {
    data.open(recipe.data);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

void check_same_recipes(const Plan& plan) {
  for (const auto& run : plan.runs)
    if (std::filesystem::exists(train::RunPaths{run.folder}.recipe())) check_same_recipe(run);
}

Execution execute(const Plan& plan, train::Progress& progress, const std::atomic<bool>& stop,
                  std::ostream& out) {
  Execution execution;
  train::DataSets data;
  std::vector<const PlannedRun*> open;
  check_same_recipes(plan);
  for (const auto& run : plan.runs)
    if (!is_finished(run)) open.push_back(&run);
  out << fmt::format("{} runs, {} of them done.\n", plan.runs.size(), plan.runs.size() - open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto& run = *open[i];
    if (stop) execution.stopped = true;
    if (execution.stopped) break;
    if (execution.unavailable.contains(run.column)) continue;
    if (const auto missing = what_is_missing(run.recipe, data); !missing.empty()) {
      execution.unavailable[run.column] = missing;
      out << plan.table.columns[run.column].title << " is left out: " << missing << '\n';
      continue;
    }
    out << fmt::format("[{}/{}] {}\n", i + 1, open.size(), run.label(plan.table)) << std::flush;
    const bool begun = std::filesystem::exists(train::RunPaths{run.folder}.recipe());
    const auto folder =
        begun ? train::RunFolder::open(run.folder) : train::begin_run(run.folder, run.recipe, data);
    const auto outcome = train::continue_run(folder, {.progress = &progress, .stop = &stop, .data = &data});
    execution.stopped = outcome == train::Outcome::stopped;
  }
  return execution;
}

}  // namespace sadam::reproduce
