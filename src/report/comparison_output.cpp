// A comparison for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/statistics.h"
#include "report/comparison.h"

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
  return {base::mean(values), base::with_deviation(values, measure.format)};
}

Cell deviation_cell(const std::vector<double>& values) {
  const auto spread = base::deviation(values);
  return spread ? Cell::number(*spread, 4) : Cell();
}

Cell count_cell(const std::vector<double>& values) { return Cell::count(values.size()); }

bool is_zero(const Measure& measure) {
  for (const auto& values : measure.values)
    if (std::ranges::any_of(values, [](double value) { return value != 0; })) return false;
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

// Seed by seed, where there are pairs enough for an error.
void add_differences(TextTable& table, const Comparison& comparison) {
  if (!comparison.by_seed) return;
  const auto has_error = [](const Measure& measure) {
    return std::ranges::any_of(measure.values, [](const auto& values) { return values.size() > 1; });
  };
  if (!std::ranges::any_of(comparison.paired, has_error)) return;
  add_blank(table);
  for (const auto& measure : comparison.paired) {
    std::vector<Cell> row = {
        fmt::format("{}, less {}", measure.title, comparison.entrants[comparison.baseline].name)};
    for (const auto& values : measure.values) row.push_back(difference_cell(values));
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
  add_differences(table, comparison);
  add_measures(table, comparison.accuracy);
  return to_text(table, width);
}

std::string to_text_rows(const Comparison& comparison, std::size_t width) {
  const auto find = [&](std::string_view key) -> const Measure& {
    return *std::ranges::find(comparison.results, key, &Measure::key);
  };
  const auto& best = find("best");
  const auto& last = find("last");
  const auto& time = find("time");
  const auto& difference = comparison.paired.front();
  TextTable table;
  table.columns = {{"label", ""},
                   {"count", "n", Align::right, kOfResults + 1},
                   {"best", "best, %", Align::right, kOfResults + 3},
                   {"last", "last, %", Align::right, kOfResults},
                   {"difference", "difference", Align::right, kOfResults + 2},
                   {"pairs", "pairs", Align::right, 2},
                   {"time", "time", Align::right, 1}};
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const auto& pairs = difference.values[i];
    const auto& times = time.values[i];
    table.add({comparison.entrants[i].label, count_cell(best.values[i]), measure_cell(best, i),
               measure_cell(last, i), i == comparison.baseline ? Cell("base") : difference_cell(pairs),
               i == comparison.baseline ? Cell("") : count_cell(pairs),
               times.empty() ? Cell() : Cell(base::mean(times), time.format(base::mean(times)))});
  }
  const auto& base = comparison.entrants[comparison.baseline].label;
  const auto note =
      comparison.by_seed
          ? fmt::format(
                "Means ± deviations of n runs that differ only in the seed. Difference: best accuracy "
                "less that of '{}', in points, seed by seed, ± its 95 % interval.",
                base)
          : fmt::format("Difference: best accuracy less that of '{}', in points, where the seed is the same.",
                        base);
  return fmt::format("{}\n{}\n", to_text(narrowed(std::move(table), width), width),
                     wrapped(note, width > 0 ? width : 80));
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
  if (comparison.by_seed) add_all("difference", comparison.paired);
  return to_csv(table);
}

std::string to_json(const Comparison& comparison) {
  auto array = Json::array();
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const auto& entrant = comparison.entrants[i];
    Json object = {{"name", entrant.name},
                   {"label", entrant.label},
                   {"seeds", seeds_of(entrant)},
                   {"runs", Json::array()}};
    for (const auto& run : entrant.runs)
      object["runs"].push_back({{"folder", run.folder.string()}, {"state", name_of(run.state)}});
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
    if (comparison.by_seed) {
      auto& differences = object["difference"] = Json::object();
      differences["less"] = comparison.entrants[comparison.baseline].name;
      for (const auto& measure : comparison.paired) {
        const auto& values = measure.values[i];
        const auto half = base::half_interval(values);
        auto& each = differences[measure.key] = Json::object();
        each["mean"] = json_value(difference_cell(values).value);
        each["half_interval"] = half ? Json(*half) : Json(nullptr);
        each["pairs"] = values.size();
      }
    }
    array.push_back(std::move(object));
  }
  return write_json(array);
}

// ---- as a picture -----------------------------------------------------------------------------------------

namespace {

// The colours come first; when all are taken, they come again with dashes.
LineStyle style_of(std::size_t entrant) {
  constexpr std::array kStrokes = {Stroke::solid, Stroke::dashed, Stroke::dotted, Stroke::dash_dotted};
  return {entrant % kPalette.size(), kStrokes[entrant / kPalette.size() % kStrokes.size()]};
}

PicturePanel panel_of(const Comparison& comparison, const char* title, const char* y_title,
                      double train::EpochEvent::*field, double scale) {
  PicturePanel panel;
  panel.titles = {title, "epoch", y_title};
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i) {
    const auto& entrant = comparison.entrants[i];
    for (const auto& run : entrant.runs) {
      if (entrant.runs.size() == 1) continue;
      PictureCurve curve{{}, style_of(i), Ink::thin, run.name};
      for (const auto& epoch : run.epochs)
        curve.points.push_back({static_cast<double>(epoch.epoch), scale * epoch.*field});
      panel.curves.push_back(std::move(curve));
    }
    PictureCurve middle{{}, style_of(i), Ink::line, entrant.label, Marks::at_points};
    for (const auto& [epoch, values] : values_by_epoch(entrant.runs, field, scale))
      middle.points.push_back({static_cast<double>(epoch), base::mean(values)});
    panel.curves.push_back(std::move(middle));
  }
  return panel;
}

}  // namespace

Picture to_picture(const Comparison& comparison) {
  Picture picture;
  picture.title = "Test accuracy and training loss by epoch";
  const bool has_means = std::ranges::any_of(comparison.entrants,
                                             [](const Entrant& entrant) { return entrant.runs.size() > 1; });
  if (has_means) picture.subtitle = "Broad: means over the seeds; thin: each run";
  picture.legend.emplace_back();
  for (std::size_t i = 0; i < comparison.entrants.size(); ++i)
    picture.legend.back().push_back({comparison.entrants[i].label, style_of(i)});
  picture.rows = rows_of_charts(
      {panel_of(comparison, "test accuracy", "test accuracy, %", &train::EpochEvent::test_accuracy, 100),
       panel_of(comparison, "training loss", "training loss", &train::EpochEvent::train_loss, 1)},
      2);
  return picture;
}

}  // namespace sadam::report
