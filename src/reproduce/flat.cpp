// A table for other programs: a row for each method and control in each column, a plain value in each cell.
#include <utility>

#include "report/statistics.h"
#include "reproduce/render.h"
#include "reproduce/result.h"

namespace sadam::reproduce {
namespace {

using report::Cell;

// Columns and cells in one go, so that they cannot part.
class FlatRow {
 public:
  void add(std::string key, Cell cell) {
    columns.push_back({key, std::move(key)});
    cells.push_back(std::move(cell));
  }
  void add_number(std::string key, const std::optional<double>& value) {
    add(std::move(key), value ? Cell::number(*value, 4) : Cell());
  }
  void add_count(std::string key, std::int64_t count) { add(std::move(key), Cell::count(count)); }
  void add_truth(std::string key, std::optional<bool> truth) {
    add(std::move(key), truth ? Cell(*truth, *truth ? "true" : "false") : Cell());
  }
  void add_mean(std::string key, const std::vector<double>& values) {
    add_number(std::move(key), values.empty() ? std::nullopt : std::optional(report::mean(values)));
  }
  /// Mean and deviation over the seeds.
  void add_values(const std::string& key, const std::vector<double>& values) {
    add_mean(key + "_mean", values);
    add_number(key + "_deviation", report::deviation(values));
  }

  std::vector<report::Column> columns;
  std::vector<Cell> cells;
};

std::int64_t sum_over(const Group& group, std::int64_t train::StepCounts::*count) {
  std::int64_t sum = 0;
  for (const auto& run : group.runs) sum += run.counts.*count;
  return sum;
}

FlatRow flat_row(const Plan& plan, const Group& group, std::optional<double> target) {
  const auto& table = plan.table;
  const auto result = result_of(table, group, target);
  const bool is_method = group.control == Control::none;
  FlatRow row;
  row.add("table", plan.name);
  row.add("column", table.columns[group.column].key);
  row.add("method", key_of(table, group));
  row.add("control", to_string(group.control));
  row.add_count("seeds", static_cast<std::int64_t>(result.seeds));
  row.add_truth("finished", result.finished);
  row.add_number("paper_best", result.paper_best);
  row.add_values("best", result.best);
  row.add_values("last", result.last);
  row.add_values("brake", result.brake);
  row.add_number("paper_convergence_seconds", result.paper_seconds);
  row.add_truth("paper_never_converged", is_method && (result.paper_seconds || result.paper_never_converged)
                                             ? std::optional(result.paper_never_converged)
                                             : std::nullopt);
  row.add_number("convergence_target", target);
  row.add_values("convergence_seconds", result.convergence_seconds);
  row.add("converged_seeds",
          target ? Cell::count(static_cast<std::int64_t>(result.convergence_seconds.size())) : Cell());
  row.add_truth("never_converged", target ? std::optional(result.convergence_seconds.empty()) : std::nullopt);
  row.add_values("wall_seconds", result.wall_seconds);
  row.add_mean("peak_memory", result.peak_memory);
  row.add_count("skipped_steps", sum_over(group, &train::StepCounts::skipped));
  row.add_count("non_finite_probes", sum_over(group, &train::StepCounts::non_finite_probes));
  row.add_count("steps_within_noise", sum_over(group, &train::StepCounts::within_noise));
  return row;
}

}  // namespace

report::TextTable to_flat(const Plan& plan) {
  const auto groups = read_groups(plan).groups;
  report::TextTable flat;
  // The columns are there without a single run, too.
  flat.columns = flat_row(plan, {}, std::nullopt).columns;
  for (const auto& group : groups)
    flat.add(flat_row(plan, group, convergence_target(plan.table, groups, group.column)).cells);
  return flat;
}

}  // namespace sadam::reproduce
