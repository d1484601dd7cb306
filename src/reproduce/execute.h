// Runs what a plan lacks, once it is known that all of it can be run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "reproduce/plan.h"

namespace sadam::train {
class Progress;
}

namespace sadam::reproduce {

struct Execution {
  bool stopped = false;  ///< by `stop`, with everything saved
  /// Columns that could not be run, and why: their data or weights are not here.
  std::map<std::size_t, std::string> unavailable;
  /// Runs that another process is working on, or that need one of those; by their labels.
  std::vector<std::string> elsewhere;
  std::vector<std::string> failures;  ///< a sentence for each run, and for each worker, that failed
};

struct ExecuteOptions {
  train::Progress& progress;
  const std::atomic<bool>& stop;
  std::ostream& out;      ///< told which run is next and how each ended
  bool live = false;      ///< `out` is a terminal, on which a line may be drawn again
  bool brief = false;     ///< a line for each run that ends, and no other
  std::int64_t jobs = 1;  ///< as many processes of this program share the runs
  /// Of a process that another one started for `jobs`: it reports to the standard output, and waits for runs
  /// that others have.
  struct Worker {
    std::string plan;          ///< which plan; "": this is no worker
    std::int64_t threads = 0;  ///< for runs that do not say how many they want
  } worker = {};
};

/// Trains every run that is not finished, from where it was left. Columns are left out if any other can be
/// run. A run that another process is working on is passed over and tried again after the others, so that
/// several processes can share a plan. A run that fails is told of, and the others go on. Whatever is wrong
/// with any of the runs is thrown before the first is trained: see check_runs(), check_same_recipes() and
/// missing_columns(). A worker does nothing for a plan that is not its own.
Execution execute(const Plan& plan, const ExecuteOptions& options);

// ---- what is checked before the first run is trained ----

/// Throws for a run that could not be trained anywhere, or not here: a data set that does not exist, more
/// images than it has, a network that does not know images of its size, a GPU that is not here, a run to take
/// brakes from that has none. The sentence names file, line and cell, unless it is about the command line.
/// Data and weights that are not on this machine are no such thing: see execute().
void check_runs(const Plan& plan);

/// Columns whose data or weights are not here, and how to get them, from a look at files and folders alone.
/// Throws an Error that names file and row where only some of a column's runs lack something: that is not
/// the machine's fault but the row's.
std::map<std::size_t, std::string> missing_columns(const Plan& plan,
                                                   const std::vector<const PlannedRun*>& runs);

/// What is to be done with the runs, which decides the way out of a refusal.
enum class Purpose {
  train,  ///< other runs can be made elsewhere
  sweep,  ///< the same, for those of a grid
  show,   ///< those that are there are wanted, by the options that made them
};

bool is_begun(const PlannedRun& run);

/// Throws a UsageError if a run that is there was made by another recipe than the plan's.
void check_same_recipe(const PlannedRun& run, Purpose purpose);
void check_same_recipes(const Plan& plan, Purpose purpose);

}  // namespace sadam::reproduce
