// What a method, or a control of it, came to over its seeds, and what the paper says of it.
#pragma once

#include <optional>
#include <vector>

#include "reproduce/groups.h"

namespace sadam::reproduce {

/// Lists have a number for each run that has it.
struct Result {
  std::size_t seeds = 0;
  bool finished = true;       ///< all of them
  std::vector<double> best;   ///< test accuracy, per cent
  std::vector<double> last;   ///< the same
  std::vector<double> brake;  ///< mean over the steps of a run; nothing where nothing brakes
  std::vector<double> wall_seconds;
  std::vector<double> peak_memory;  ///< bytes

  /// Per cent: what a run must reach to count as converged. None without a baseline.
  std::optional<double> target;
  std::vector<double> convergence_seconds;  ///< of the runs that reached it

  std::optional<double> paper_best;  ///< per cent
  std::optional<double> paper_seconds;
  bool paper_never_converged = false;  ///< the paper has ∗ for a time
};

/// 95 % of the mean over seeds of the best accuracy of the table's baseline in this column, in per cent. None
/// where the table has no baseline, or no run of it is there.
std::optional<double> convergence_target(const TableRecipe& table, const std::vector<Group>& groups,
                                         std::size_t column);

Result result_of(const TableRecipe& table, const Group& group, std::optional<double> target);

}  // namespace sadam::reproduce
