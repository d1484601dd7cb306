#include "reproduce/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "base/quantities.h"
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
  try {
    if (!recipe.model.weights.empty()) train::weights_file(recipe);
    data.open(recipe.data);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool is_begun(const PlannedRun& run) { return std::filesystem::exists(train::RunPaths{run.folder}.recipe()); }

// The run's folder, made or opened. Nothing while another process has it.
std::optional<train::RunFolder> take_folder(const PlannedRun& run, train::DataSets& data) {
  try {
    if (!is_begun(run)) {
      try {
        return train::begin_run(run.folder, run.recipe, data);
      } catch (const Error&) {
        if (!is_begun(run)) throw;  // otherwise another process was quicker
      }
    }
    auto folder = train::RunFolder::open(run.folder);
    check_same_recipe(run);
    return folder;
  } catch (const train::FolderInUse&) {
    return std::nullopt;
  }
}

// One `sadam reproduce`.
class Executor {
 public:
  Executor(const Plan& plan, train::Progress& progress, const std::atomic<bool>& stop, std::ostream& out)
      : plan_(plan), progress_(progress), stop_(stop), out_(out) {}

  Execution go() {
    std::vector<const PlannedRun*> open;
    for (const auto& run : plan_.runs)
      if (!is_finished(run)) open.push_back(&run);
    open_ = open.size();
    out_ << fmt::format("{}, {} of them done.\n", base::counted(plan_.runs.size(), "run"),
                        plan_.runs.size() - open_);
    // Round by round, until all are done or what is left is in other hands.
    while (!open.empty() && !execution_.stopped) {
      auto left = round(open);
      if (left.size() == open.size()) {
        for (const auto* run : left) execution_.elsewhere.push_back(run->label(plan_.table));
        break;
      }
      open = std::move(left);
    }
    return std::move(execution_);
  }

 private:
  // Returns those that have to wait.
  std::vector<const PlannedRun*> round(const std::vector<const PlannedRun*>& open) {
    std::vector<const PlannedRun*> waiting;
    for (const auto* run : open) {
      if (stop_) execution_.stopped = true;
      if (execution_.stopped) break;
      if (!is_unavailable(*run) && !train(*run)) waiting.push_back(run);
    }
    return waiting;
  }

  bool is_unavailable(const PlannedRun& run) {
    if (execution_.unavailable.contains(run.column)) return true;
    const auto missing = what_is_missing(run.recipe, data_);
    if (missing.empty()) return false;
    execution_.unavailable[run.column] = missing;
    out_ << plan_.table.columns[run.column].title << " is left out: " << missing << '\n';
    return true;
  }

  // False if it has to wait for another process.
  bool train(const PlannedRun& run) {
    if (!is_ready(run)) return false;
    const auto folder = take_folder(run, data_);
    if (!folder) return false;
    ++begun_;
    if (is_finished(run)) return true;  // by another process, meanwhile
    out_ << fmt::format("[{}/{}] {}\n", begun_, open_, run.label(plan_.table)) << std::flush;
    const auto outcome =
        train::continue_run(*folder, {.progress = &progress_, .stop = &stop_, .data = &data_});
    execution_.stopped = outcome == train::Outcome::stopped;
    return true;
  }

  // A control needs all brakes of the run that it controls.
  bool is_ready(const PlannedRun& run) const {
    const auto& wanted = run.recipe.control.run;
    return wanted.empty() || std::none_of(plan_.runs.begin(), plan_.runs.end(), [&](const PlannedRun& other) {
             return other.folder == wanted && !is_finished(other);
           });
  }

  const Plan& plan_;
  train::Progress& progress_;
  const std::atomic<bool>& stop_;
  std::ostream& out_;
  train::DataSets data_;
  Execution execution_;
  std::size_t open_ = 0;
  std::size_t begun_ = 0;
};

}  // namespace

void check_same_recipes(const Plan& plan) {
  for (const auto& run : plan.runs)
    if (is_begun(run)) check_same_recipe(run);
}

Execution execute(const Plan& plan, train::Progress& progress, const std::atomic<bool>& stop,
                  std::ostream& out) {
  check_same_recipes(plan);
  return Executor(plan, progress, stop, out).go();
}

}  // namespace sadam::reproduce
