// Runs read back from what `sadam runs --csv` wrote: enough to redo a table without the folders of its runs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_summary.h"

namespace sadam::report {

/// The records of any text of comma-separated values (RFC 4180), so many at most; never throws.
std::vector<std::vector<std::string>> csv_records(std::string_view text, std::size_t most);

/// Throws an Error that names file and line for what is no such list, and a UsageError for a field of a
/// recipe that this program does not know. What a file lacks stays unknown.
std::vector<RunSummary> read_runs_csv(const std::filesystem::path& path);
/// `origin` names the text in messages.
std::vector<RunSummary> runs_in_csv(std::string_view text, std::string_view origin);

}  // namespace sadam::report
