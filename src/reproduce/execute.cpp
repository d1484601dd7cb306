#include "reproduce/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "base/quantities.h"
#include "base/usage_error.h"
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
    check_same_recipe(run, Purpose::train);
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
    for (const auto& [column, why] : missing_columns(plan_, open)) leave_out(column, why);
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
    leave_out(run.column, missing);
    return true;
  }

  void leave_out(std::size_t column, const std::string& why) {
    execution_.unavailable[column] = why;
    notices_ += fmt::format("{} is left out: {}\n", plan_.table.columns[column].title, why);
  }

  // False if it has to wait for another process.
  bool train(const PlannedRun& run) {
    if (!is_ready(run)) return false;
    const auto folder = take_folder(run, data_);
    if (!folder) return false;
    ++begun_;
    if (is_finished(run)) return true;  // by another process, meanwhile
    out_ << std::exchange(notices_, {}) << fmt::format("[{}/{}] {}\n", begun_, open_, run.label(plan_.table))
         << std::flush;
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
  // Said before the next run begins. Where none does, the caller has nothing else to say.
  std::string notices_;
  std::size_t open_ = 0;
  std::size_t begun_ = 0;
};

}  // namespace

Execution execute(const Plan& plan, train::Progress& progress, const std::atomic<bool>& stop,
                  std::ostream& out) {
  check_runs(plan);
  check_same_recipes(plan, Purpose::train);
  return Executor(plan, progress, stop, out).go();
}

}  // namespace sadam::reproduce
