// What can be known to be wrong with the runs of a plan before the first of them is trained.
#pragma once

#include "reproduce/plan.h"

namespace sadam::reproduce {

/// Throws for a run that could not be trained anywhere, or not here: a data set that does not exist, more
/// images than it has, a network that does not know images of its size, a GPU that is not here, a run to take
/// brakes from that has none. The sentence names file, line and cell, unless it is about the command line.
/// Data and weights that are not on this machine are no such thing: see execute().
void check_runs(const Plan& plan);

/// "mine.toml:14, small/wide: ", or "mine.toml, small/wide: " where no line sets the field (such as
/// "data.name"; "" where there is no single one); "" where the command line sets it.
std::string place_of(const Plan& plan, const PlannedRun& run, const std::string& field);

}  // namespace sadam::reproduce
