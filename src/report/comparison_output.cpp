// A comparison for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

Cell count_cell(const std::vector<double>& values) {
  return Cell::count(static_cast<std::int64_t>(values.size()));
}

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
  // `cells(i)`: value, deviation and count of an entrant, of which the last two are shown with `by_seed`.
  const auto add = [&](const char* section, const std::string& field, const auto& cells) {
    std::vector<Cell> row = {section, field};
    for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
      const std::array<Cell, 3> all = cells(i);
      row.insert(row.end(), all.begin(), comparison.by_seed ? all.end() : all.begin() + 1);
    }
    table.add(std::move(row));
  };
  for (const auto& difference : comparison.differences)
    add("recipe", difference.field, [&](std::size_t i) {
      return std::array{difference.cells[i], Cell(), Cell()};
    });
  const auto add_all = [&](const char* section, const std::vector<Measure>& measures) {
    for (const auto& measure : measures)
      add(section, measure.key, [&](std::size_t i) {
        const auto& values = measure.values[i];
        return std::array{measure_cell(measure, i), deviation_cell(values), count_cell(values)};
      });
  };
  add_all("result", comparison.results);
  add_all("accuracy", comparison.accuracy);
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
      for (const auto& measure : measures) means[measure.key] = json_value(measure_cell(measure, i).value);
      if (!comparison.by_seed) return;
      auto& spreads = object[fmt::format("{}_deviation", key)] = Json::object();
      for (const auto& measure : measures)
        spreads[measure.key] = json_value(deviation_cell(measure.values[i]).value);
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
