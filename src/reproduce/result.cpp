#include "reproduce/result.h"

#include <algorithm>

#include "base/quantities.h"
#include "report/statistics.h"

namespace sadam::reproduce {
namespace {

using report::RunSummary;

template <class Get>
std::vector<double> values_of(const Group& group, const Get& get) {
  std::vector<double> values;
  for (const auto& run : group.runs)
    if (const auto value = get(run)) values.push_back(static_cast<double>(*value));
  return values;
}

std::optional<double> in_percent(std::optional<double> fraction) {
  return fraction ? std::optional(base::percent(*fraction)) : std::nullopt;
}

std::optional<double> number_for(const std::map<std::string, double>& numbers, const std::string& column) {
  const auto found = numbers.find(column);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

// In the paper a method that failed to converge has ∗ for a time: one without a time in a column in which
// others have one, that has times elsewhere.
bool paper_has_star(const TableRecipe& table, const TableRow& row, const std::string& column) {
  return row.paper.contains(column) && !row.paper_seconds.contains(column) && !row.paper_seconds.empty() &&
         std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const TableRow& other) { return other.paper_seconds.contains(column); });
}

}  // namespace

std::optional<double> convergence_target(const TableRecipe& table, const std::vector<Group>& groups,
                                         std::size_t column) {
  for (const auto& group : groups) {
    if (group.column != column || group.control != Control::none ||
        table.rows[group.row].key != table.baseline)
      continue;
    const auto best = values_of(group, [](const RunSummary& run) { return in_percent(run.best_accuracy); });
    if (!best.empty()) return 0.95 * report::mean(best);
  }
  return std::nullopt;
}

Result result_of(const TableRecipe& table, const Group& group, std::optional<double> target) {
  using Run = const RunSummary&;
  Result result;
  result.seeds = group.runs.size();
  result.finished = std::all_of(group.runs.begin(), group.runs.end(),
                                [](Run run) { return run.state == report::RunState::finished; });
  result.best = values_of(group, [](Run run) { return in_percent(run.best_accuracy); });
  result.last = values_of(group, [](Run run) { return in_percent(run.last_accuracy); });
  result.brake = values_of(group, [](Run run) { return run.mean_brake; });
  result.wall_seconds = values_of(group, [](Run run) {
    return run.train_seconds ? std::optional(*run.train_seconds + run.evaluate_seconds.value_or(0))
                             : std::nullopt;
  });
  result.peak_memory = values_of(group, [](Run run) { return run.peak_memory; });
  result.target = target;
  if (target)
    result.convergence_seconds =
        values_of(group, [&](Run run) { return seconds_to_reach(run, *target / 100); });
  if (group.control != Control::none) return result;
  const auto& row = table.rows[group.row];
  const auto& column = table.columns[group.column].key;
  result.paper_best = number_for(row.paper, column);
  result.paper_seconds = number_for(row.paper_seconds, column);
  result.paper_never_converged = paper_has_star(table, row, column);
  return result;
}

}  // namespace sadam::reproduce
