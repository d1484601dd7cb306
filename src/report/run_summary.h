// A run's folder, read: what was asked for, how far it came, how well it did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "step/option_names.h"
#include "train/recipe/recipe.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::report {

// clang-format off
#define SADAM_RUN_STATES(VALUE)                                                                              \
  VALUE(finished, "the last epoch of the recipe is done")                                                    \
  VALUE(running, "a process holds the folder")                                                               \
  VALUE(stopped, "neither: it can be resumed")                                                               \
  VALUE(stuck, "neither, and it cannot be resumed; what it came to is known")                                \
  VALUE(unknown, "its recipe has a field or a value that this program does not know")                        \
  VALUE(damaged, "its recipe or events cannot be read, or events that the checkpoint knows of are missing")
// clang-format on

enum class RunState { SADAM_RUN_STATES(SADAM_ENUMERATOR) };
SADAM_FAMILY(RunState, SADAM_RUN_STATES)

/// Whether its recipe and its events could not be read.
inline bool is_unread(RunState state) { return state == RunState::unknown || state == RunState::damaged; }

struct RunSummary {
  std::string name;
  std::filesystem::path folder;
  RunState state = RunState::stopped;
  std::optional<train::Recipe> recipe;  ///< none if run.toml cannot be read

  std::int64_t steps = 0;
  std::int64_t epochs_done = 0;
  std::optional<double> best_accuracy;  ///< on the test set, between 0 and 1
  std::optional<std::int64_t> best_epoch;
  std::optional<double> last_accuracy;
  /// On the test set, in the epoch that did best on the validation images; none where there are none.
  std::optional<double> validated_accuracy;
  std::optional<double> last_test_loss;
  /// Over all steps, as a `matched` control takes it; none for a method that has no brake, which is neither
  /// S-Adam nor a control.
  std::optional<double> mean_brake;
  std::optional<double> mean_lgi;  ///< over all steps; none where no step probed
  std::optional<double> last_gap;  ///< test loss less training loss in the last epoch
  std::optional<double> chatter;   ///< mean over the windows of the last epoch, where it was watched
  std::optional<double> flips;     ///< the same
  std::int64_t regime_changes = 0;
  std::optional<double> train_seconds;
  std::optional<double> evaluate_seconds;
  std::optional<double> seconds_per_step;   ///< evaluation left out
  std::optional<std::int64_t> peak_memory;  ///< bytes

  train::StepCounts counts;  ///< of all steps: what was skipped, what drowned in rounding
  bool diverged = false;     ///< in its last epoch, as the trainer says it

  std::vector<train::EpochEvent> epochs;

  /// One sentence on what is wrong with the folder and the way out; "" if nothing is.
  std::string problem;
};

/// What the events of a run add up to, taken one by one.
class RunTotals {
 public:
  void add(const train::Event& event);
  /// Writes what is known into a summary.
  void put_into(RunSummary& run) const;

  const train::StepCounts& counts() const { return counts_; }
  const std::vector<train::EpochEvent>& epochs() const { return epochs_; }

 private:
  void add_step(const train::StepEvent& step);

  train::StepCounts counts_;
  train::StepCounts of_epoch_;  ///< of the epoch that the last step belongs to
  train::StepCounts of_ended_epoch_;
  std::int64_t epoch_ = 0;
  std::int64_t last_step_ = 0;
  double brake_sum_ = 0;
  double lgi_sum_ = 0;
  std::vector<train::EpochEvent> epochs_;
  std::vector<train::ChatterEvent> chatter_;
  std::int64_t regime_changes_ = 0;
};

/// How events.jsonl was read.
struct EventsRead {
  RunTotals totals;
  std::size_t cut_line = 0;  ///< as EventTail's
  std::string problem;       ///< what is wrong with the file; "" if nothing is
};

/// Never throws for what is in the folder: a file that cannot be read makes the run `unknown` or `damaged`.
RunSummary summarise(const train::RunPaths& paths, std::string name);
/// The same for one whose events are known. `locked`: whether the folder was in use before they were read.
RunSummary summarise(const train::RunPaths& paths, std::string name, const EventsRead& events, bool locked);

/// Every run below `root`, named by its folder relative to it.
std::vector<RunSummary> summarise_all(const std::filesystem::path& root);

/// Each name is the folder of a run, or the name of one below `root`. Throws a UsageError for a run that does
/// not exist (with the nearest name that does) or that is given twice, and an Error for one that cannot be
/// read.
std::vector<RunSummary> named_runs(const std::vector<std::string>& names, const std::filesystem::path& root);

/// Throws a UsageError if two are of one folder.
void check_given_once(const std::vector<RunSummary>& runs);

/// A value for each of the runs that have it: `get` is a member, or a function, that gives an optional
/// number.
template <class Get>
std::vector<double> values_of(const std::vector<RunSummary>& runs, const Get& get) {
  std::vector<double> values;
  for (const auto& run : runs)
    if (const auto value = std::invoke(get, run)) values.push_back(static_cast<double>(*value));
  return values;
}

/// By epoch, a value for each of the runs that have reached it, times `scale`.
std::map<std::int64_t, std::vector<double>> values_by_epoch(const std::vector<RunSummary>& runs,
                                                            double train::EpochEvent::*field, double scale);

/// Training time, evaluation left out, up to the end of the first epoch whose test accuracy reaches
/// `accuracy` (between 0 and 1). None if no epoch does.
std::optional<double> seconds_to_reach(const RunSummary& run, double accuracy);

/// A sentence for each kind of irregularity there is (steps skipped, divergence, probes that were not finite
/// or drowned in rounding), with the runs it is about. Empty if all went as it should.
std::vector<std::string> irregularities(const std::vector<const RunSummary*>& runs);

}  // namespace sadam::report
