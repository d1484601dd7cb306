#include "reproduce/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantities.h"
#include "report/statistics.h"
#include "report/text_table.h"
#include "reproduce/paired.h"
#include "reproduce/result.h"

namespace sadam::reproduce {
namespace {

using report::Align;
using report::Cell;

std::string title_of(const TableRecipe& table, const Group& group) {
  if (group.control == Control::cosine) return "AdamW, cosine schedule";
  return group.control == Control::none ? table.rows[group.row].title : "  " + to_string(group.control);
}

Cell number_or_nothing(const std::optional<double>& value) {
  return value ? Cell::number(*value, 2) : Cell();
}

Cell with_spread(const std::vector<double>& values, int digits) {
  return values.empty() ? Cell() : Cell(report::mean(values), report::with_deviation(values, digits));
}

template <class Format>
Cell mean_as(const std::vector<double>& values, const Format& format) {
  return values.empty() ? Cell() : Cell(report::mean(values), format(report::mean(values)));
}

Cell convergence_cell(const Result& result) {
  if (!result.target) return {};
  const auto& times = result.convergence_seconds;
  if (times.empty()) return "∗";
  auto cell = with_spread(times, 1);
  if (times.size() < result.seeds) cell.text += fmt::format(" ({} of {})", times.size(), result.seeds);
  return cell;
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
          {"seeds", "seeds", Align::right}};  // the last: see leave_out_seeds
}

std::vector<Cell> row_of(const TableRecipe& table, const Group& group, std::optional<double> target) {
  const auto result = result_of(table, group, target);
  const auto size = [](double bytes) { return base::memory(static_cast<std::int64_t>(bytes)); };
  return {Cell(title_of(table, group) + (result.finished ? "" : " (unfinished)")),
          number_or_nothing(result.paper_best),
          with_spread(result.best, 2),
          with_spread(result.last, 2),
          mean_as(result.brake, [](double brake) { return base::decimal(brake, 3); }),
          result.paper_never_converged ? Cell("∗") : number_or_nothing(result.paper_seconds),
          convergence_cell(result),
          mean_as(result.wall_seconds, base::duration),
          mean_as(result.peak_memory, size),
          Cell::count(static_cast<std::int64_t>(result.seeds))};
}

std::string convergence_note(const TableRecipe& table, double target) {
  const auto baseline = std::find_if(table.rows.begin(), table.rows.end(),
                                     [&](const TableRow& row) { return row.key == table.baseline; });
  return fmt::format(
      "Converged: training time, evaluation left out, until the test accuracy first reaches {:.2f} % (95 "
      "% of {}'s best), mean over seeds; ∗ if never.",
      target, baseline->title);
}

// Where every row has all seeds, the heading can say so. Empties the column then.
bool leave_out_seeds(report::TextTable& block, std::size_t seeds) {
  const auto all = Cell::count(static_cast<std::int64_t>(seeds)).value;
  if (std::any_of(block.rows.begin(), block.rows.end(),
                  [&](const auto& row) { return row.back().value != all; }))
    return false;
  for (auto& row : block.rows) row.back() = {};
  return true;
}

std::vector<Block> blocks_of(const TableRecipe& table, const std::vector<Group>& groups) {
  std::vector<Block> blocks;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto target = convergence_target(table, groups, column);
    report::TextTable block{columns_of_report(), {}};
    for (const auto& group : groups)
      if (group.column == column) block.add(row_of(table, group, target));
    if (block.rows.empty()) continue;
    auto title = table.columns[column].title;
    if (leave_out_seeds(block, table.seeds.size()))
      title += table.seeds.size() == 1 ? "; one seed" : fmt::format("; {} seeds", table.seeds.size());
    blocks.push_back({title, without_empty_columns(block), target ? convergence_note(table, *target) : "",
                      paired_differences(table, groups, column)});
  }
  return blocks;
}

// What the indented rows are, where there are any.
std::string controls_note(const std::vector<Group>& groups) {
  const auto has = [&](Control control) {
    return std::any_of(groups.begin(), groups.end(),
                       [&](const Group& group) { return group.control == control; });
  };
  std::string note;
  if (has(Control::matched))
    note +=
        "matched: AdamW with the bias correction of the row above, its steps multiplied by that row's mean "
        "brake, "
        "seed by seed.";
  if (has(Control::shuffled))
    note += std::string(note.empty() ? "" : " ") +
            "shuffled: the same, multiplied by that row's brakes in random order.";
  return note;
}

}  // namespace

std::vector<Block> render(const Plan& plan) { return blocks_of(plan.table, read_groups(plan).groups); }

std::string to_report(const Plan& plan, const std::map<std::size_t, std::string>& unavailable,
                      const ReportStyle& style) {
  const auto read = read_groups(plan);
  const auto width = style.markdown ? 0 : style.width;
  std::string text = (style.markdown ? "# " : "") + report::wrapped(plan.table.title, width) + "\n";
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) text += "\n" + report::wrapped(sentence, width) + "\n";
  };
  const auto layout = [&](const report::TextTable& table) {
    return style.markdown ? to_markdown(table) : to_text(table, width);
  };
  for (const auto& block : blocks_of(plan.table, read.groups)) {
    add((style.markdown ? "## " : "") + block.title);
    text += "\n" + layout(block.table);
    add(block.convergence);
    if (block.differences.rows.empty()) continue;
    add("Seed by seed, in points of accuracy: mean difference ± its standard error.");
    text += "\n" + layout(block.differences);
  }
  add(controls_note(read.groups));
  for (const auto& [column, why] : unavailable)
    add(plan.table.columns[column].title + " is left out: " + why);
  for (const auto& sentence : read.irregularities()) add(sentence);
  for (const auto& problem : read.problems) add(problem);
  return text + "\n" + differences_text(plan, style);
}

std::string differences_text(const Plan& plan, const ReportStyle& style) {
  const auto width = style.markdown ? 0 : style.width;
  std::string text = plan.of_the_paper ? "What differs from the paper:\n" : "How it was made:\n";
  for (const auto& difference : plan.differences)
    text += report::wrapped("- " + difference, width, "  ") + "\n";
  return text;
}

}  // namespace sadam::reproduce
