#include "reproduce/paired.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "report/statistics.h"

namespace sadam::reproduce {
namespace {

using report::Align;
using report::Cell;
using Accuracy = std::optional<double> report::RunSummary::*;

// In points, one for each seed that both have.
std::vector<double> differences(const Group& a, const Group& b, Accuracy accuracy) {
  std::vector<double> values;
  for (const auto& run : a.runs)
    for (const auto& other : b.runs)
      if (run.recipe && other.recipe && run.recipe->seed == other.recipe->seed &&
          run.epochs_done == other.epochs_done && run.*accuracy && other.*accuracy)
        values.push_back(100 * (*(run.*accuracy) - *(other.*accuracy)));
  return values;
}

Cell difference_cell(const std::vector<double>& values) {
  const double error = *report::deviation(values) / std::sqrt(static_cast<double>(values.size()));
  return {report::mean(values), fmt::format("{:+.2f} ± {:.2f}", report::mean(values), error)};
}

// What it is compared with, in the order of the rows of the report.
bool is_compared_with(const TableRecipe& table, const Group& method, const Group& other) {
  if (other.column != method.column) return false;
  if (other.control == Control::cosine) return true;
  if (other.control == Control::none)
    return other.row != method.row && table.rows[other.row].key == table.baseline;
  return other.row == method.row;
}

std::string name_of_other(const TableRecipe& table, const Group& other) {
  if (other.control == Control::none) return table.rows[other.row].title;
  return other.control == Control::cosine ? "AdamW, cosine schedule" : to_string(other.control);
}

}  // namespace

report::TextTable paired_differences(const TableRecipe& table, const std::vector<Group>& groups,
                                     std::size_t column) {
  report::TextTable rows;
  rows.columns = {{"method", "method", Align::left},
                  {"less", "less", Align::left},
                  {"best", "best, points", Align::right},
                  {"last", "last, points", Align::right},
                  {"seeds", "seeds", Align::right}};
  for (const auto& method : groups) {
    if (method.column != column || method.control != Control::none) continue;
    auto name = table.rows[method.row].title;  // once
    for (const auto& other : groups) {
      if (!is_compared_with(table, method, other)) continue;
      const auto best = differences(method, other, &report::RunSummary::best_accuracy);
      const auto last = differences(method, other, &report::RunSummary::last_accuracy);
      if (best.size() < 2 || last.size() < 2) continue;
      rows.add({Cell(std::exchange(name, "")), Cell(name_of_other(table, other)), difference_cell(best),
                difference_cell(last), Cell::count(static_cast<std::int64_t>(best.size()))});
    }
  }
  return rows;
}

}  // namespace sadam::reproduce
