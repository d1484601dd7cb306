#include "reproduce/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include "base/quantities.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/run_summary.h"
#include "reproduce/herald.h"
#include "train/checkpoint.h"
#include "train/progress.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::reproduce {
namespace {

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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// One process that trains.
class Executor {
 public:
  Executor(const Plan& plan, const ExecuteOptions& options, Herald& herald)
      : plan_(plan), options_(options), herald_(herald) {}

  Execution go(std::vector<const PlannedRun*> open) {
    for (const auto& [column, why] : missing_columns(plan_, open)) leave_out(column, why);
    // Round by round, until all are done or what is left is in other hands.
    while (!open.empty() && !execution_.stopped) {
      auto left = round(open);
      if (left.size() == open.size() && (options_.worker.plan.empty() || !wait_for_others())) {
        // What waits for a run that failed waits for nobody.
        if (!execution_.failures.empty() && !is_in_hand(plan_)) break;
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
      if (options_.stop) execution_.stopped = true;
      if (execution_.stopped) break;
      if (execution_.unavailable.contains(run->column)) continue;
      // Data is opened only for a run that can be had.
      const bool is_free = is_ready(*run) && !train::is_in_use(train::RunPaths{run->folder});
      if (is_free && (is_finished(*run) || is_unavailable(*run))) continue;
      if (!is_free || !try_to_train(*run)) waiting.push_back(run);
    }
    return waiting;
  }

  // A while later, whether another process has a run of the plan. One may be between two of them: only when
  // nobody was seen twice, nobody is there.
  bool wait_for_others() {
    for (int looks = 0; looks < 2; ++looks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (is_in_hand(plan_)) return true;
    }
    return false;
  }

  // Data that are there, as missing_columns() has seen, may yet be damaged.
  bool is_unavailable(const PlannedRun& run) {
    try {
      data_.open(run.recipe.data);
      return false;
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      leave_out(run.column, error.what());
      return true;
    }
  }

  void leave_out(std::size_t column, const std::string& why) {
    execution_.unavailable[column] = why;
    herald_.left_out(column, why);
  }

  // False if it has to wait for another process.
  bool try_to_train(const PlannedRun& run) {
    try {
      return train(run);
    } catch (const UsageError&) {
      throw;
    } catch (const std::bad_alloc&) {
      fail(run, "out of memory: use a smaller batch (train.batch) or smaller data.");
    } catch (const std::exception& error) {
      fail(run, first_line(error.what()));
    }
    return true;
  }

  void fail(const PlannedRun& run, const std::string& why) {
    execution_.failures.push_back(fmt::format("{}: {}", run.label(plan_.table), why));
    herald_.failed(run, why);
  }

  bool train(const PlannedRun& run) {
    const auto folder = take_folder(run, data_);
    if (!folder) return false;
    if (is_finished(run)) return true;  // by another process, meanwhile
    herald_.begun(run);
    const auto outcome = train::continue_run(
        *folder, {.progress = &options_.progress, .stop = &options_.stop, .data = &data_});
    execution_.stopped = outcome == train::Outcome::stopped;
    if (!execution_.stopped) herald_.ended(run);
    return true;
  }

  // A control needs all brakes of the run that it controls.
  bool is_ready(const PlannedRun& run) const {
    const auto& wanted = run.recipe.control.run;
    return wanted.empty() || std::ranges::none_of(plan_.runs, [&](const PlannedRun& other) {
             return other.folder == wanted && !is_finished(other);
           });
  }

  const Plan& plan_;
  const ExecuteOptions& options_;
  Herald& herald_;
  train::DataSets data_;
  Execution execution_;
};

std::vector<const PlannedRun*> open_runs(const Plan& plan) {
  std::vector<const PlannedRun*> open;
  for (const auto& run : plan.runs)
    if (!is_finished(run)) open.push_back(&run);
  return open;
}

// What `plan` says, for the process that another one started.
Execution execute_as_worker(Plan plan, const ExecuteOptions& options) {
  for (auto& run : plan.runs)
    if (auto& train = run.recipe.train; train.threads == 0)
      train.threads = std::max<std::int64_t>(1, options.worker.threads / train.processes);
  WorkerReport report(plan, std::cout);
  return Executor(plan, options, report).go(open_runs(plan));
}

}  // namespace

bool is_finished(const PlannedRun& run) {
  const auto position = train::saved_position(train::RunPaths{run.folder});
  return position && position->epoch >= run.recipe.train.epochs;
}

bool is_in_hand(const Plan& plan) {
  return std::ranges::any_of(
      plan.runs, [](const PlannedRun& run) { return train::is_in_use(train::RunPaths{run.folder}); });
}

Execution execute(const Plan& plan, const ExecuteOptions& options) {
  if (!options.worker.plan.empty())
    return options.worker.plan == fingerprint(plan) ? execute_as_worker(plan, options) : Execution();
  check_runs(plan);
  check_same_recipes(plan, Purpose::train);
  const auto open = open_runs(plan);
  options.out << fmt::format("{}, {} of them done.\n", base::counted(plan.runs.size(), "run"),
                             plan.runs.size() - open.size());
  if (options.jobs > 1 && open.size() > 1) return execute_with_workers(plan, options, open);
  Teller teller(plan, options, open.size());
  return Executor(plan, options, teller).go(open);
}

// ---- what is told -----------------------------------------------------------------------------------------

Teller::Teller(const Plan& plan, const ExecuteOptions& options, std::size_t open)
    : plan_(plan), options_(options), open_(open), start_(train::steady_seconds()) {}

void Teller::left_out(std::size_t column, const std::string& why) {
  notices_ += fmt::format("{} is left out: {}\n", plan_.table.columns[column].title, why);
}

void Teller::begun(const PlannedRun& run) {
  ++begun_;
  options_.out << std::exchange(notices_, {});
  if (!options_.brief)
    options_.out << fmt::format("[{}/{}] {}\n", done_before() + begun_, plan_.runs.size(),
                                run.label(plan_.table));
  options_.out << std::flush;
}

void Teller::ended(const PlannedRun& run) {
  ++ended_;
  const auto label = run.label(plan_.table);
  const auto summary = report::summarise(train::RunPaths{run.folder}, label);
  const auto accuracy = [](const std::optional<double>& fraction) {
    return fraction ? fmt::format("{} %", base::decimal(100 * *fraction, 2)) : std::string("–");
  };
  const double seconds = summary.train_seconds.value_or(0) + summary.evaluate_seconds.value_or(0);
  const auto best = accuracy(summary.best_accuracy);
  auto line = fmt::format("{}: best {}, last {}, {}; {}", label, best, accuracy(summary.last_accuracy),
                          base::duration(seconds), standing());
  if (options_.live && base::display_width(line) > base::terminal_columns(stderr))
    line = fmt::format("{}: best {}; {}", label, best, standing());
  options_.out << line << std::endl;
}

void Teller::failed(const PlannedRun& run, const std::string& why) {
  ++ended_;
  options_.out << fmt::format("{} failed: {}\n", run.label(plan_.table), why) << std::flush;
}

std::string Teller::standing() const {
  auto text = fmt::format("{} of {} done", done_before() + ended_, plan_.runs.size());
  if (ended_ == 0 || ended_ >= open_) return text;
  const double each = (train::steady_seconds() - start_) / static_cast<double>(ended_);
  return text + fmt::format(", ETA {}", base::duration(each * static_cast<double>(open_ - ended_)));
}

}  // namespace sadam::reproduce
