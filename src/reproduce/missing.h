// What runs need and is not on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reproduce/plan.h"

namespace sadam::reproduce {

/// Columns whose data or weights are not here, and how to get them, from a look at files and folders alone.
/// Throws an Error that names file and row where only some of a column's runs lack something: that is not
/// the machine's fault but the row's.
std::map<std::size_t, std::string> missing_columns(const Plan& plan,
                                                   const std::vector<const PlannedRun*>& runs);

}  // namespace sadam::reproduce
