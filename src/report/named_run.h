// The run a person means.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run_summary.h"

namespace sadam::report {

/// Each name is the folder of a run, or the name of one below `root`. Throws a UsageError for a run that does
/// not exist (with the nearest name that does) or that is given twice, and an Error for one that is damaged.
std::vector<RunSummary> named_runs(const std::vector<std::string>& names, const std::filesystem::path& root);

}  // namespace sadam::report
