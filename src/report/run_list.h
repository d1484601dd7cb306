// What `sadam runs` lists: a row a run, filtered and sorted by any column or recipe field; and read back from
// what its --csv wrote.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_summary.h"
#include "report/text_table.h"

namespace sadam::report {

struct RunQuery {
  std::filesystem::path root = "runs";
  std::vector<std::string> where;  ///< "optimizer.name=sadam"; all must hold
  std::string sort;                ///< a column or field; "" sorts by name
  bool reverse = false;
};

struct RunList {
  TextTable brief;  ///< for people: the columns that tell most, with the test accuracy by epoch as a line
  TextTable full;   ///< these, the other results, and every recipe field
  /// A sentence for each run in the list that was cut short or cannot be read, and for each without a recipe,
  /// of which it cannot be said whether it belongs there.
  std::vector<std::string> problems;
  std::vector<std::string> irregularities;  ///< sentences on steps that were skipped and the like
  /// For each condition that holds of no run: "optimizer.name is adamw or sadam", from what the runs have.
  std::vector<std::string> unmet;
  std::size_t found = 0;   ///< runs below the root, before filtering
  std::size_t unread = 0;  ///< how many of the problems are runs that cannot be read
};

/// Throws a UsageError for a column or field that does not exist, with the nearest one that does.
RunList list_runs(const RunQuery& query);

/// What columns are called: the results first, then every recipe field.
std::vector<std::string> result_columns();

/// Whether every row says the same there.
bool is_constant(const TextTable& table, std::size_t column);

/// Values as a line of blocks, from the smallest to the largest: "▁▃▅▇█". At most `cells` of them, the last
/// value always among them; a space where there is no number.
std::string sparkline(const std::vector<double>& values, std::size_t cells);

// ---- read back: enough to redo a table without the folders of its runs ------------------------------------

/// The records of any text of comma-separated values (RFC 4180), so many at most; never throws.
std::vector<std::vector<std::string>> csv_records(std::string_view text, std::size_t most);

/// Throws an Error that names file and line for what is no such list, and a UsageError for a field of a
/// recipe that this program does not know. What a file lacks stays unknown.
std::vector<RunSummary> read_runs_csv(const std::filesystem::path& path);
/// `origin` names the text in messages.
std::vector<RunSummary> runs_in_csv(std::string_view text, std::string_view origin);

}  // namespace sadam::report
