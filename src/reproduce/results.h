// What the runs of a plan came to: read, and put together by method and control; and the plans that runs were
// made for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/run_summary.h"
#include "report/text_table.h"
#include "reproduce/plan.h"

namespace sadam::reproduce {

/// One method, or one control of it, in one column.
struct Group {
  std::size_t column = 0;  ///< index into Plan::table.columns
  std::size_t row = 0;     ///< index into Plan::table.rows; of a `cosine` control: rows.size()
  Control control = Control::none;
  std::vector<report::RunSummary> runs;  ///< one a seed, each with an epoch or more

  bool is_finished() const;  ///< all of them
};

struct Groups {
  std::vector<Group> groups;  ///< by column, row and control; those without a finished epoch are left out
  std::vector<std::string> problems;  ///< a sentence for each run whose files are cut short or damaged

  /// What a reader has to know of the runs: steps that were skipped and the like, a sentence each.
  std::vector<std::string> irregularities() const;
};

/// From whatever runs are there.
Groups read_groups(const Plan& plan);

/// "recorded with train.batch = 64 instead of 128": what a run was not made with as the plan has it, of the
/// fields that decide what it comes to.
std::vector<std::string> differences_from_plan(const report::RunSummary& run, const PlannedRun& planned);

/// The plan with these runs, known by their names, instead of those in folders. Throws an Error if it has
/// none of them. Says in `differences` what they were not made with as the plan has it.
Plan with_recorded(Plan plan, std::vector<report::RunSummary> runs, const std::filesystem::path& root);

// ---- the other way round: from folders of runs to the tables that they were made for ----------------------

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

// ---- groups of runs as rows of a table --------------------------------------------------------------------

/// What a reader sees: behind the columns of the table one more for each of its means.
struct Shown {
  TableRecipe table;
  std::vector<Group> groups;  ///< by column
};

/// A mean has a group for each method and control that has one in all of its columns, and there a run for
/// each seed that has ended in all of them. Such a run has mean accuracies and the mean brake, but no epochs
/// and no times.
Shown with_means(const TableRecipe& table, std::vector<Group> groups);

/// The key of the row; of a `cosine` control, which belongs to no row, "adamw".
const std::string& key_of(const TableRecipe& table, const Group& group);

/// "S-Adam, k = 2"; "matched"; "AdamW, cosine schedule".
std::string title_of(const TableRecipe& table, const Group& group);
/// As it is called where it does not stand below its method: "S-Adam, k = 2, matched".
std::string full_title_of(const TableRecipe& table, const Group& group);

/// Lists have a number for each run that has it.
struct Result {
  std::size_t seeds = 0;
  bool finished = true;           ///< all of them
  std::vector<double> best;       ///< test accuracy, per cent
  std::vector<double> last;       ///< the same
  std::vector<double> validated;  ///< the same, in the epoch that the validation images chose
  std::vector<double> brake;      ///< mean over the steps of a run; nothing where nothing brakes
  std::vector<double> wall_seconds;
  std::vector<double> peak_memory;  ///< bytes

  /// Per cent: what a run must reach to count as converged. None without a baseline.
  std::optional<double> target;
  std::vector<double> convergence_seconds;  ///< of the runs that reached it

  std::optional<double> paper_best;  ///< per cent
  std::optional<double> paper_seconds;
  std::optional<double> paper_wall_seconds;
  std::optional<double> paper_memory;  ///< MB
  bool paper_never_converged = false;  ///< the paper has ∗ for a time
};

/// 95 % of the mean over seeds of the best accuracy of the table's baseline in this column, in per cent. None
/// where the table has no baseline, or no run of it is there.
std::optional<double> convergence_target(const TableRecipe& table, const std::vector<Group>& groups,
                                         std::size_t column);

Result result_of(const TableRecipe& table, const Group& group, std::optional<double> target);

/// Mean and deviation, as `report::with_deviation` writes them; nothing for no values.
report::Cell mean_cell(const std::vector<double>& values, int digits);

}  // namespace sadam::reproduce
