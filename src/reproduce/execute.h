// Runs what a plan lacks.
#pragma once

#include <atomic>
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
};

/// Trains every run that is not finished, from where it was left. `out` is told which one is next, and which
/// columns are left out if any other can be run. A run that another process is working on is passed over and
/// tried again after the others, so that several processes can share a table. Whatever is wrong with any of
/// the runs is thrown before the first is trained: see check_runs(), check_same_recipes() and
/// missing_columns().
Execution execute(const Plan& plan, train::Progress& progress, const std::atomic<bool>& stop,
                  std::ostream& out);

}  // namespace sadam::reproduce
