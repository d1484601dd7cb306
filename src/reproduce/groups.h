// The runs of a plan, read and put together: what each method, and each control of it, came to in a column.
#pragma once

#include <string>
#include <vector>

#include "report/run_summary.h"
#include "reproduce/plan.h"

namespace sadam::reproduce {

/// One method, or one control of it, in one column.
struct Group {
  std::size_t column = 0;  ///< index into Plan::table.columns
  std::size_t row = 0;     ///< index into Plan::table.rows; of a `cosine` control: rows.size()
  Control control = Control::none;
  std::vector<report::RunSummary> runs;  ///< one a seed, each with an epoch or more
};

struct Groups {
  std::vector<Group> groups;  ///< by column, row and control; those without a finished epoch are left out
  std::vector<std::string> problems;  ///< a sentence for each run whose files are cut short or damaged

  /// What a reader has to know of the runs: steps that were skipped and the like, a sentence each.
  std::vector<std::string> irregularities() const;
};

/// From whatever runs are there.
Groups read_groups(const Plan& plan);

/// The key of the row; of a `cosine` control, which belongs to no row, "adamw".
const std::string& key_of(const TableRecipe& table, const Group& group);

}  // namespace sadam::reproduce
