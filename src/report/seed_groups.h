// Runs that differ in nothing but the seed belong together.
#pragma once

#include <string>
#include <vector>

#include "report/run_summary.h"

namespace sadam::report {

struct Entrant {
  std::string name;
  std::vector<RunSummary> runs;  ///< at least one, each with a recipe
};

/// Each run for itself.
std::vector<Entrant> single_entrants(std::vector<RunSummary> runs);

/// Runs whose recipes are equal but for seed and title, in the order in which they come. A `matched` or
/// `shuffled` control follows the S-Adam run of its own seed: two of them belong together if those runs do.
/// Throws a UsageError that names the two runs if a seed comes twice in a group.
std::vector<Entrant> group_by_seed(std::vector<RunSummary> runs);

}  // namespace sadam::report
