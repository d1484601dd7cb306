// The other way round: from folders of runs to the tables that they were made for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "report/run_summary.h"
#include "reproduce/plan.h"

namespace sadam::reproduce {

struct FoundTable {
  std::string name;               ///< of its recipe: "table1"
  Request request;                ///< that makes the plan; its root is the folder that TABLE is in
  Plan plan;                      ///< with every run that there could be
  std::vector<std::size_t> runs;  ///< those in its folder, by their place in the list
};

/// A run belongs to a table if its folder is TABLE/COLUMN/ROW/seed-N, as `sadam reproduce` names it, wherever
/// TABLE is; TABLE is "table1", "table1-quick" or "table1-3-epochs".
std::vector<FoundTable> found_tables(const std::vector<const report::RunSummary*>& runs);

/// The run, with the folder and the name that the table's plan has for it.
report::RunSummary as_planned(report::RunSummary run, const FoundTable& table);

}  // namespace sadam::reproduce
