#include "reproduce/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantities.h"
#include "report/run_summary.h"
#include "report/statistics.h"

namespace sadam::reproduce {
namespace {

using report::Align;
using report::Cell;
using report::RunSummary;

// The runs of one row (or control) in one column, a run a seed.
struct Group {
  std::size_t row = 0;
  Control control = Control::none;
  std::vector<RunSummary> runs;
};

std::vector<Group> groups_of(const Plan& plan, std::size_t column) {
  std::vector<Group> groups;
  for (const auto& run : plan.runs) {
    if (run.column != column) continue;
    auto summary = report::summarise(train::RunPaths{run.folder}, run.folder.string());
    if (!summary.best_accuracy) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.row == run.row && g.control == run.control; });
    if (group == groups.end()) group = groups.insert(group, {run.row, run.control, {}});
    group->runs.push_back(std::move(summary));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.row, a.control) < std::pair(b.row, b.control);
  });
  return groups;
}

template <class Get>
std::vector<double> values_of(const std::vector<RunSummary>& runs, const Get& get) {
  std::vector<double> values;
  for (const auto& run : runs)
    if (const std::optional<double> value = get(run)) values.push_back(*value);
  return values;
}

Cell percent(const std::vector<double>& fractions) {
  if (fractions.empty()) return {};
  auto values = fractions;
  for (auto& value : values) value *= 100;
  return Cell(report::mean(values), report::with_deviation(values, 2));
}

std::optional<double> scaled(std::optional<std::int64_t> value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

std::string title_of(const TableRecipe& table, const Group& group) {
  switch (group.control) {
    case Control::matched:
      return "  matched: AdamW × its mean brake";
    case Control::shuffled:
      return "  shuffled: AdamW × its brakes in random order";
    case Control::cosine:
      return "AdamW, cosine schedule";
    case Control::none:
      break;
  }
  return table.rows[group.row].title;
}

std::string key_of(const TableRecipe& table, const Group& group) {
  const auto row = group.row < table.rows.size() ? table.rows[group.row].key : "adamw";
  return group.control == Control::none ? row : row + "." + to_string(group.control);
}

// 95 % of the mean over seeds of the baseline's best accuracy.
std::optional<double> target_of(const TableRecipe& table, const std::vector<Group>& groups) {
  for (const auto& group : groups)
    if (group.control == Control::none && table.rows[group.row].key == table.baseline)
      return 0.95 * report::mean(values_of(group.runs, [](const auto& run) { return run.best_accuracy; }));
  return std::nullopt;
}

Cell convergence_of(const Group& group, std::optional<double> target) {
  if (!target) return {};
  const auto times = values_of(group.runs, [&](const auto& run) { return seconds_to_reach(run, *target); });
  if (times.empty()) return Cell("∗");
  auto text = report::with_deviation(times, 1);
  if (times.size() < group.runs.size()) text += fmt::format(" ({} of {})", times.size(), group.runs.size());
  return Cell(report::mean(times), text);
}

Cell paper_number(const std::map<std::string, double>& numbers, const std::string& column, int digits) {
  const auto found = numbers.find(column);
  return found == numbers.end() ? Cell() : Cell::number(found->second, digits);
}

// In the paper a method that failed to converge has ∗ for a time.
Cell paper_seconds(const TableRow& row, const std::string& column, bool others_have_times) {
  const auto cell = paper_number(row.paper_seconds, column, 2);
  const bool failed = others_have_times && row.paper.contains(column) && !row.paper_seconds.contains(column);
  return failed && row.paper_seconds.size() > 0 ? Cell("∗") : cell;
}

bool brakes_at_all(const RunSummary& run) {
  return run.recipe && (run.recipe->optimizer.name == "sadam" || run.recipe->control.kind != "none");
}

std::vector<Cell> row_of(const TableRecipe& table, const std::string& column, const Group& group,
                         std::optional<double> target) {
  const bool is_row = group.control == Control::none;
  const auto* const row = is_row ? &table.rows[group.row] : nullptr;
  const bool column_has_times = std::any_of(table.rows.begin(), table.rows.end(), [&](const TableRow& other) {
    return other.paper_seconds.contains(column);
  });
  const auto brakes = values_of(
      group.runs, [](const auto& run) { return brakes_at_all(run) ? run.mean_brake : std::nullopt; });
  const auto wall = values_of(group.runs, [](const auto& run) -> std::optional<double> {
    if (!run.train_seconds) return std::nullopt;
    return *run.train_seconds + run.evaluate_seconds.value_or(0);
  });
  const auto memory = values_of(group.runs, [](const auto& run) { return scaled(run.peak_memory); });
  const auto all_done = std::all_of(group.runs.begin(), group.runs.end(),
                                    [](const auto& run) { return run.state == report::RunState::finished; });
  return {Cell(title_of(table, group) + (all_done ? "" : " (unfinished)")),
          row != nullptr ? paper_number(row->paper, column, 2) : Cell(),
          percent(values_of(group.runs, [](const auto& run) { return run.best_accuracy; })),
          percent(values_of(group.runs, [](const auto& run) { return run.last_accuracy; })),
          brakes.empty() ? Cell() : Cell(report::mean(brakes), fmt::format("{:.3f}", report::mean(brakes))),
          row != nullptr ? paper_seconds(*row, column, column_has_times) : Cell(),
          convergence_of(group, target),
          wall.empty() ? Cell() : Cell(report::mean(wall), base::duration(report::mean(wall))),
          memory.empty()
              ? Cell()
              : Cell(report::mean(memory), base::memory(static_cast<std::int64_t>(report::mean(memory)))),
          Cell::count(static_cast<std::int64_t>(group.runs.size()))};
}

std::vector<report::Column> columns_of_report() {
  return {{"method", "method", Align::left},
          {"paper_best", "paper, %", Align::right},
          {"best", "best, %", Align::right},
          {"last", "last, %", Align::right},
          {"mean_brake", "mean brake", Align::right},
          {"paper_seconds", "paper, s", Align::right},
          {"convergence_seconds", "converged, s", Align::right},
          {"wall_seconds", "wall time", Align::right},
          {"peak_memory", "memory", Align::right},
          {"seeds", "seeds", Align::right}};
}

std::string convergence_note(const TableRecipe& table, double target) {
  for (const auto& row : table.rows)
    if (row.key == table.baseline)
      return fmt::format(
          "Converged: training time, evaluation left out, until the test accuracy first reaches {:.2f} % (95 "
          "% of "
          "{}'s best), mean over seeds; ∗ if never.",
          100 * target, row.title);
  return "";
}

}  // namespace

std::vector<Block> render(const Plan& plan) {
  std::vector<Block> blocks;
  for (std::size_t c = 0; c < plan.table.columns.size(); ++c) {
    const auto& column = plan.table.columns[c];
    const auto groups = groups_of(plan, c);
    if (groups.empty()) continue;
    const auto target = target_of(plan.table, groups);
    Block block{column.title, {columns_of_report(), {}}, target ? convergence_note(plan.table, *target) : ""};
    for (const auto& group : groups) block.table.add(row_of(plan.table, column.key, group, target));
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::string to_report(const Plan& plan, const std::map<std::size_t, std::string>& unavailable,
                      bool markdown) {
  std::string text = (markdown ? "# " : "") + plan.table.title + "\n";
  for (const auto& block : render(plan)) {
    text += "\n" + std::string(markdown ? "## " : "") + block.title + "\n\n";
    text += markdown ? to_markdown(block.table) : to_text(block.table);
    if (!block.convergence.empty()) text += "\n" + block.convergence + "\n";
  }
  for (const auto& [column, why] : unavailable)
    text += "\n" + plan.table.columns[column].title + " is left out: " + why + "\n";
  text += "\nWhat differs from the paper:\n";
  for (const auto& difference : plan.differences) text += "- " + difference + "\n";
  return text;
}

report::TextTable to_flat(const Plan& plan) {
  report::TextTable flat{columns_of_report(), {}};
  flat.columns.insert(flat.columns.begin(), {"column", "column", Align::left});
  flat.columns.insert(flat.columns.begin() + 1, {"key", "key", Align::left});
  for (std::size_t c = 0; c < plan.table.columns.size(); ++c) {
    const auto& column = plan.table.columns[c];
    const auto groups = groups_of(plan, c);
    const auto target = target_of(plan.table, groups);
    for (const auto& group : groups) {
      auto row = row_of(plan.table, column.key, group, target);
      row.insert(row.begin(), {Cell(column.key), Cell(key_of(plan.table, group))});
      flat.add(std::move(row));
    }
  }
  return flat;
}

}  // namespace sadam::reproduce
