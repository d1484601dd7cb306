#include "reproduce/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quantities.h"
#include "base/statistics.h"
#include "report/comparison.h"
#include "reproduce/results.h"

namespace sadam::reproduce {
namespace {

using report::Align;
using report::Cell;
using report::RunSummary;

// Controls of a row stand below it.
std::string row_title(const TableRecipe& table, const Group& group) {
  return (is_of_a_row(group.control) ? "  " : "") + title_of(table, group);
}

Cell number_or_nothing(const std::optional<double>& value) {
  return value ? Cell::number(*value, 2) : Cell();
}

template <class Format>
Cell mean_as(const std::vector<double>& values, const Format& format) {
  return values.empty() ? Cell() : Cell(base::mean(values), format(base::mean(values)));
}

Cell convergence_cell(const Result& result) {
  if (!result.target) return {};
  const auto& times = result.convergence_seconds;
  if (times.empty()) return "∗";
  auto cell = mean_cell(times, 1);
  if (times.size() < result.seeds) cell.text += fmt::format(" ({} of {})", times.size(), result.seeds);
  return cell;
}

// A row: columns and cells in one go, so that they cannot part.
class Row {
 public:
  void add(std::string key, Cell cell) { add(key, key, std::move(cell), Align::left); }
  void add(std::string key, std::string title, Cell cell, Align align = Align::right) {
    columns.push_back({std::move(key), std::move(title), align});
    cells.push_back(std::move(cell));
  }
  void add_number(std::string key, const std::optional<double>& value) {
    add(std::move(key), value ? Cell::number(*value, 4) : Cell());
  }
  void add_truth(std::string key, std::optional<bool> truth) {
    add(std::move(key), truth ? Cell(*truth, *truth ? "true" : "false") : Cell());
  }
  void add_mean(std::string key, const std::vector<double>& values) {
    add_number(std::move(key), values.empty() ? std::nullopt : std::optional(base::mean(values)));
  }
  /// Mean and deviation over the seeds.
  void add_values(const std::string& key, const std::vector<double>& values) {
    add_mean(key + "_mean", values);
    add_number(key + "_deviation", base::deviation(values));
  }

  std::vector<report::Column> columns;
  std::vector<Cell> cells;
};

// For people.
Row row_of(const TableRecipe& table, const Group& group, std::optional<double> target) {
  const auto result = result_of(table, group, target);
  const auto size = [](double bytes) { return base::memory(static_cast<std::int64_t>(bytes)); };
  Row row;
  row.add("method", "method", row_title(table, group) + (result.finished ? "" : " (unfinished)"),
          Align::left);
  row.add("paper_best", "paper, %", number_or_nothing(result.paper_best));
  row.add("best", "best, %", mean_cell(result.best, 2));
  row.add("last", "last, %", mean_cell(result.last, 2));
  row.add("validated", "validated, %", mean_cell(result.validated, 2));
  row.add("mean_brake", "mean brake",
          mean_as(result.brake, [](double brake) { return base::decimal(brake, 3); }));
  row.add("paper_seconds", "paper, s",
          result.paper_never_converged ? Cell("∗") : number_or_nothing(result.paper_seconds));
  row.add("convergence_seconds", "converged, s", convergence_cell(result));
  row.add("paper_wall_seconds", "paper, total s", number_or_nothing(result.paper_wall_seconds));
  row.add("wall_seconds", "wall time", mean_as(result.wall_seconds, base::duration));
  row.add("paper_memory", "paper, MB", number_or_nothing(result.paper_memory));
  row.add("peak_memory", "memory", mean_as(result.peak_memory, size));
  row.add("seeds", "seeds", Cell::count(result.seeds));  // see leave_out_seeds
  return row;
}

std::string convergence_note(const TableRecipe& table, double target) {
  const auto baseline = std::ranges::find(table.rows, table.baseline, &TableRow::key);
  return fmt::format(
      "Converged: training time, evaluation left out, until the test accuracy first reaches {:.2f} % (95 "
      "% of {}'s best), mean over seeds; ∗ if never.",
      target, baseline->title);
}

// Where every row has all seeds, the heading can say so. Empties the column then.
bool leave_out_seeds(report::TextTable& block, std::size_t seeds) {
  const auto all = Cell::count(seeds).value;
  if (std::ranges::any_of(block.rows, [&](const auto& row) { return row.back().value != all; })) return false;
  for (auto& row : block.rows) row.back() = {};
  return true;
}

// What it is compared with, in the order of the rows of the report.
bool is_compared_with(const TableRecipe& table, const Group& method, const Group& other) {
  if (other.column != method.column) return false;
  if (other.control == Control::cosine) return true;
  if (other.control == Control::none)
    return other.row != method.row && table.rows[other.row].key == table.baseline_of(table.rows[method.row]);
  return other.row == method.row;
}

/// Methods compared seed by seed: runs with one seed start from the same weights and see the same batches.
/// What each method of a column is above or below its baseline, its own controls and the cosine schedule:
/// mean differences over the seeds that both have, and their 95 % intervals. Comparisons with fewer than two
/// common seeds are left out.
report::TextTable paired_differences(const TableRecipe& table, const std::vector<Group>& groups,
                                     std::size_t column) {
  report::TextTable rows;
  rows.columns = {{"method", "method", Align::left},
                  {"less", "less", Align::left},
                  {"best", "best, points", Align::right},
                  {"last", "last, points", Align::right},
                  {"validated", "validated, points", Align::right},
                  {"seeds", "seeds", Align::right}};
  for (const auto& method : groups) {
    if (method.column != column || method.control != Control::none) continue;
    auto name = table.rows[method.row].title;  // once
    for (const auto& other : groups) {
      if (!is_compared_with(table, method, other)) continue;
      const auto best = report::differences_by_seed(method.runs, other.runs, &RunSummary::best_accuracy);
      const auto last = report::differences_by_seed(method.runs, other.runs, &RunSummary::last_accuracy);
      if (best.size() < 2 || last.size() < 2) continue;
      const auto validated =
          report::differences_by_seed(method.runs, other.runs, &RunSummary::validated_accuracy);
      rows.add({Cell(std::exchange(name, "")), Cell(title_of(table, other)), report::difference_cell(best),
                report::difference_cell(last), report::difference_cell(validated), Cell::count(best.size())});
    }
  }
  return without_empty_columns(rows);
}

std::vector<Block> blocks_of(const Plan& plan, const Groups& read) {
  const auto [table, groups] = with_means(plan.table, read.groups);
  std::vector<Block> blocks;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto target = convergence_target(table, groups, column);
    report::TextTable block;
    for (const auto& group : groups) {
      if (group.column != column) continue;
      auto row = row_of(table, group, target);
      block.columns = std::move(row.columns);
      block.add(std::move(row.cells));
    }
    if (block.rows.empty()) continue;
    auto title = table.columns[column].title;
    if (leave_out_seeds(block, table.seeds.size()))
      title += table.seeds.size() == 1 ? "; one seed" : fmt::format("; {} seeds", table.seeds.size());
    blocks.push_back({title, without_empty_columns(block), target ? convergence_note(table, *target) : "",
                      paired_differences(table, groups, column)});
  }
  return blocks;
}

std::int64_t sum_over(const Group& group, std::int64_t train::StepCounts::*count) {
  std::int64_t sum = 0;
  for (const auto& run : group.runs) sum += run.counts.*count;
  return sum;
}

// For other programs.
Row flat_row(const std::string& name, const TableRecipe& table, const Group& group,
             std::optional<double> target) {
  const auto result = result_of(table, group, target);
  const bool is_method = group.control == Control::none;
  Row row;
  row.add("table", name);
  row.add("column", table.columns[group.column].key);
  row.add("method", key_of(table, group));
  row.add("control", name_of(group.control));
  row.add("seeds", Cell::count(result.seeds));
  row.add_truth("finished", result.finished);
  row.add_number("paper_best", result.paper_best);
  row.add_values("best", result.best);
  row.add_values("last", result.last);
  row.add_values("validated", result.validated);
  row.add_values("brake", result.brake);
  row.add_number("paper_convergence_seconds", result.paper_seconds);
  row.add_truth("paper_never_converged", is_method && (result.paper_seconds || result.paper_never_converged)
                                             ? std::optional(result.paper_never_converged)
                                             : std::nullopt);
  row.add_number("convergence_target", target);
  row.add_values("convergence_seconds", result.convergence_seconds);
  row.add("converged_seeds", target ? Cell::count(result.convergence_seconds.size()) : Cell());
  row.add_truth("never_converged", target ? std::optional(result.convergence_seconds.empty()) : std::nullopt);
  row.add_number("paper_wall_seconds", result.paper_wall_seconds);
  row.add_values("wall_seconds", result.wall_seconds);
  row.add_number("paper_memory_mb", result.paper_memory);
  row.add_mean("peak_memory", result.peak_memory);
  const bool is_mean = contains(keys_of(table.means), table.columns[group.column].key);
  const auto count = [&](std::string key, std::int64_t train::StepCounts::*of) {
    row.add(std::move(key), is_mean ? Cell() : Cell::count(sum_over(group, of)));
  };
  count("skipped_steps", &train::StepCounts::skipped);
  count("non_finite_probes", &train::StepCounts::non_finite_probes);
  count("steps_within_noise", &train::StepCounts::within_noise);
  return row;
}

}  // namespace

std::string controls_note(const std::vector<Group>& groups) {
  const auto has = [&](Control control) { return std::ranges::count(groups, control, &Group::control) > 0; };
  std::vector<std::string> notes;
  for (const auto& [control, brakes] :
       {std::pair(Control::matched, "multiplied by that row's mean brake, seed by seed"),
        {Control::shuffled, "multiplied by that row's brakes in random order"},
        {Control::replayed, "multiplied by the brakes of that row's run with another seed, step by step"}}) {
    if (!has(control)) continue;
    const auto* const who =
        notes.empty() ? "AdamW with the bias correction of the row above, its steps" : "the same,";
    notes.push_back(fmt::format("{}: {} {}.", name_of(control), who, brakes));
  }
  return fmt::format("{}", fmt::join(notes, " "));
}

std::string comparisons_note(std::size_t comparisons) {
  if (comparisons == 0) return "";
  return fmt::format("These are {} comparisons: where nothing differs, one interval in twenty misses 0.",
                     comparisons);
}

std::vector<Block> render(const Plan& plan) { return blocks_of(plan, read_groups(plan)); }

std::string to_report(const Plan& plan, const std::map<std::size_t, std::string>& unavailable,
                      const ReportStyle& style) {
  const auto read = read_groups(plan);
  const auto width = style.markdown ? 0 : style.width;
  auto text = fmt::format("{}{}\n", style.markdown ? "# " : "", report::wrapped(plan.table.title, width));
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) text += fmt::format("\n{}\n", report::wrapped(sentence, width));
  };
  const auto layout = [&](const report::TextTable& table) {
    return style.markdown ? to_markdown(table) : to_text(table, width);
  };
  std::size_t comparisons = 0;
  for (const auto& block : blocks_of(plan, read)) {
    add((style.markdown ? "## " : "") + block.title);
    text += fmt::format("\n{}", layout(block.table));
    add(block.convergence);
    if (block.differences.rows.empty()) continue;
    add("Seed by seed, in points of accuracy: mean difference ± its 95 % interval.");
    text += fmt::format("\n{}", layout(block.differences));
    comparisons += (block.differences.columns.size() - 3) * block.differences.rows.size();
  }
  add(comparisons_note(comparisons));
  add(controls_note(read.groups));
  return text + closing_text(plan, read, unavailable, style);
}

std::string closing_text(const Plan& plan, const Groups& groups,
                         const std::map<std::size_t, std::string>& unavailable, const ReportStyle& style) {
  const auto width = style.markdown ? 0 : style.width;
  std::vector<std::string> sentences;
  for (const auto& [column, why] : unavailable)
    sentences.push_back(fmt::format("{} is left out: {}", plan.table.columns[column].title, why));
  for (const auto& list : {groups.irregularities(), groups.problems})
    sentences.insert(sentences.end(), list.begin(), list.end());
  std::string text;
  for (const auto& sentence : sentences) text += fmt::format("\n{}\n", report::wrapped(sentence, width));
  text += plan.of_the_paper ? "\nWhat differs from the paper:\n" : "\nHow it was made:\n";
  for (const auto& difference : plan.differences)
    text += fmt::format("{}\n", report::wrapped(fmt::format("- {}", difference), width, "  "));
  return text;
}

report::TextTable to_flat(const Plan& plan) {
  const auto [table, groups] = with_means(plan.table, read_groups(plan).groups);
  report::TextTable flat;
  // The columns are there without a single run, too.
  flat.columns = flat_row(plan.name, table, {}, std::nullopt).columns;
  for (const auto& group : groups)
    flat.add(flat_row(plan.name, table, group, convergence_target(table, groups, group.column)).cells);
  return flat;
}

}  // namespace sadam::reproduce
