// A comparison for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/comparison.h"
#include "report/statistics.h"

namespace sadam::report {
namespace {

std::vector<std::int64_t> seeds_of(const Entrant& entrant) {
  std::vector<std::int64_t> seeds;
  for (const auto& run : entrant.runs) seeds.push_back(run.recipe->seed);
  return seeds;
}

Cell seeds_cell(const Entrant& entrant) { return fmt::format("{}", fmt::join(seeds_of(entrant), ", ")); }

Cell measure_cell(const Measure& measure, std::size_t entrant) {
  const auto& values = measure.values[entrant];
  if (values.empty()) return {};
  return {mean(values), with_deviation(values, measure.format)};
}

Cell deviation_cell(const std::vector<double>& values) {
  const auto spread = deviation(values);
  return spread ? Cell::number(*spread, 4) : Cell();
}

Json mean_json(const std::vector<double>& values) {
  return values.empty() ? Json() : json_value(mean(values));
}

Cell count_cell(const std::vector<double>& values) {
  return Cell::count(static_cast<std::int64_t>(values.size()));
}

Json deviation_json(const std::vector<double>& values) { return json_value(deviation_cell(values).value); }

bool is_zero(const Measure& measure) {
  for (const auto& values : measure.values)
    if (std::any_of(values.begin(), values.end(), [](double value) { return value != 0; })) return false;
  return true;
}

void add_blank(TextTable& table) { table.add(std::vector<Cell>(table.columns.size(), Cell(""))); }

void add_measures(TextTable& table, const std::vector<Measure>& measures) {
  if (measures.empty()) return;
  add_blank(table);
  for (const auto& measure : measures) {
    if (measure.only_if_any && is_zero(measure)) continue;
    std::vector<Cell> row = {measure.title};
    for (std::size_t i = 0; i < measure.values.size(); ++i) row.push_back(measure_cell(measure, i));
    table.add(std::move(row));
  }
}

/// In CSV every entrant has its column, and with `by_seed` one more for deviations and one for how many runs
/// they are of.
class CsvRow {
 public:
  CsvRow(const char* section, const std::string& field, bool by_seed)
      : cells_{section, field}, by_seed_(by_seed) {}

  void add(Cell value, Cell spread = {}, Cell count = {}) {
    cells_.push_back(std::move(value));
    if (!by_seed_) return;
    cells_.push_back(std::move(spread));
    cells_.push_back(std::move(count));
  }
  std::vector<Cell> take() { return std::move(cells_); }

 private:
  std::vector<Cell> cells_;
  bool by_seed_;
};

}  // namespace

std::string to_text(const Comparison& comparison, std::size_t width) {
  TextTable table;
  table.columns.push_back({"field", ""});
  for (const auto& entrant : comparison.entrants)
    table.columns.push_back({entrant.name, entrant.name, Align::right});
  if (comparison.by_seed) {
    std::vector<Cell> row = {"seeds"};
    for (const auto& entrant : comparison.entrants) row.push_back(seeds_cell(entrant));
    table.add(std::move(row));
  }
  for (const auto& difference : comparison.differences) {
    if (comparison.by_seed && difference.field == "seed") continue;
    std::vector<Cell> row = {difference.field};
    row.insert(row.end(), difference.cells.begin(), difference.cells.end());
    table.add(std::move(row));
  }
  if (table.rows.empty()) {
    std::vector<Cell> row(table.columns.size(), Cell(""));
    row.front() = "(recipes: the same)";
    table.add(std::move(row));
  }
  add_measures(table, comparison.results);
  add_measures(table, comparison.accuracy);
  return to_text(table, width);
}

std::string to_csv(const Comparison& comparison) {
  TextTable table;
  table.columns = {{"section", ""}, {"field", ""}};
  for (const auto& entrant : comparison.entrants) {
    table.columns.push_back({entrant.name, ""});
    if (!comparison.by_seed) continue;
    table.columns.push_back({fmt::format("{} deviation", entrant.name), ""});
    table.columns.push_back({fmt::format("{} count", entrant.name), ""});
  }
  for (const auto& difference : comparison.differences) {
    CsvRow row("recipe", difference.field, comparison.by_seed);
    for (const auto& cell : difference.cells) row.add(cell);
    table.add(row.take());
  }
  const auto add = [&](const char* section, const std::vector<Measure>& measures) {
    for (const auto& measure : measures) {
      CsvRow row(section, measure.key, comparison.by_seed);
      for (std::size_t i = 0; i < measure.values.size(); ++i)
        row.add(measure_cell(measure, i), deviation_cell(measure.values[i]), count_cell(measure.values[i]));
      table.add(row.take());
    }
  };
  add("result", comparison.results);
  add("accuracy", comparison.accuracy);
  return to_csv(table);
}

std::string to_json(const Comparison& comparison) {
  auto array = Json::array();
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const auto& entrant = comparison.entrants[i];
    Json object = {{"name", entrant.name}, {"seeds", seeds_of(entrant)}, {"runs", Json::array()}};
    for (const auto& run : entrant.runs)
      object["runs"].push_back({{"folder", run.folder.string()}, {"state", to_string(run.state)}});
    auto& recipe = object["recipe"] = Json::object();
    for (const auto& difference : comparison.differences)
      recipe[difference.field] = json_value(difference.cells[i].value);
    const auto add = [&](const char* key, const std::vector<Measure>& measures) {
      auto& means = object[key] = Json::object();
      for (const auto& measure : measures) means[measure.key] = mean_json(measure.values[i]);
      if (!comparison.by_seed) return;
      auto& spreads = object[fmt::format("{}_deviation", key)] = Json::object();
      for (const auto& measure : measures) spreads[measure.key] = deviation_json(measure.values[i]);
      auto& counts = object[fmt::format("{}_count", key)] = Json::object();
      for (const auto& measure : measures) counts[measure.key] = measure.values[i].size();
    };
    add("result", comparison.results);
    add("accuracy", comparison.accuracy);
    array.push_back(std::move(object));
  }
  return write_json(array);
}

}  // namespace sadam::report
