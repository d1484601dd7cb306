#include "reproduce/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/picture.h"

namespace sadam::reproduce {
namespace {

// Leaves the items with the given keys, or all if there are none.
template <class Keyed>
void keep_keys(std::vector<Keyed>& items, const std::vector<std::string>& keys) {
  if (!keys.empty()) std::erase_if(items, [&](const Keyed& item) { return !contains(keys, item.key); });
}

TableRecipe table_of(const FigureRecipe& figure) {
  auto table = find_table(figure.table);
  keep_keys(table.columns, figure.columns);
  keep_keys(table.rows, figure.rows);
  return table;
}

// What `--only` wants of one figure.
struct Wanted {
  bool everything = false;
  std::vector<std::string> cells;
};

Wanted wanted_of(const Figure& figure, const std::vector<std::string>& only, std::set<std::string>& unknown) {
  Wanted wanted;
  wanted.everything = only.empty();
  const auto prefix = figure.recipe.key + "/";
  for (const auto& wish : only) {
    const auto cell = wish.starts_with(prefix) ? wish.substr(prefix.size()) : wish;
    if (wish == figure.recipe.key)
      wanted.everything = true;
    else if (figure.plan.table.has_cells(cell))
      wanted.cells.push_back(cell);
    else
      continue;
    unknown.erase(wish);
  }
  return wanted;
}

[[noreturn]] void refuse(const std::string& wish, const std::vector<Figure>& figures) {
  std::set<std::string> names;
  for (const auto& figure : figures) {
    names.insert(figure.recipe.key);
    for (const auto& column : figure.plan.table.columns) names.insert(column.key);
    for (const auto& row : figure.plan.table.rows) names.insert(row.key);
  }
  throw UsageError(fmt::format("--only {}: there is no such figure, column or row{}", wish,
                               base::suggestion(wish, std::vector(names.begin(), names.end()))));
}

}  // namespace

std::vector<FigureRecipe> built_in_figures() {
  for (const auto& built_in : built_in_recipes())
    if (built_in.name == "curves") return read_figures(built_in.text, "curves.toml");
  return {};
}

std::vector<Figure> plan_figures(const std::vector<FigureRecipe>& recipes, const Request& request) {
  auto without_only = request;
  without_only.only.clear();
  std::vector<Figure> all;
  for (const auto& recipe : recipes)
    all.push_back({recipe, make_plan(table_of(recipe), without_only), recipe.key + variant_of(request)});

  std::set<std::string> unknown(request.only.begin(), request.only.end());
  std::vector<Figure> figures;
  for (const auto& figure : all) {
    const bool named = std::ranges::any_of(request.only, [&](const std::string& wish) {
      return wish == figure.recipe.key || wish.starts_with(figure.recipe.key + "/");
    });
    if (!figure.plan.of_the_paper && !named) continue;  // ours: only where it is asked for by its name
    const auto wanted = wanted_of(figure, request.only, unknown);
    if (!wanted.everything && wanted.cells.empty()) continue;
    figures.push_back(figure);
    if (wanted.everything) continue;
    auto restricted = request;
    restricted.only = wanted.cells;
    figures.back().plan = make_plan(table_of(figure.recipe), restricted);
  }
  if (!unknown.empty()) refuse(*unknown.begin(), all);
  return figures;
}

std::vector<Figure> figures_of(const std::vector<const report::RunSummary*>& runs) {
  std::vector<Figure> figures;
  for (const auto& found : found_tables(runs)) {
    std::vector<report::RunSummary> its_runs;
    for (const auto i : found.runs) its_runs.push_back(as_planned(*runs[i], found));
    const auto add = [&](Figure figure) {
      try {
        figure.plan = with_recorded(std::move(figure.plan), its_runs, found.request.root);
      } catch (const Error&) {
        return;  // none of them is in this figure
      }
      const auto is_taken = [&](const std::string& name) {
        return std::ranges::count(figures, name, &Figure::name) > 0;
      };
      const auto name = figure.name;
      for (int number = 2; is_taken(figure.name); ++number) figure.name = fmt::format("{}-{}", name, number);
      figures.push_back(std::move(figure));
    };
    const FigureRecipe whole{found.name, found.plan.table.title,         found.name, {},
                             {},         {"test_accuracy", "train_loss"}};
    add({whole, found.plan, found.plan.name});
    for (const auto& recipe : built_in_figures()) {
      if (recipe.table != found.name) continue;
      auto request = found.request;
      request.only = {recipe.key};
      for (auto& figure : plan_figures({recipe}, request)) add(std::move(figure));
    }
  }
  return figures;
}

// ---- from epoch to epoch ----------------------------------------------------------------------------------

namespace {

using report::Align;
using report::Cell;
using report::LineStyle;
using report::Stroke;

// Something that changes from epoch to epoch.
struct Measure {
  const char* key;
  const char* title;
  const char* unit;  // "" for none
  double train::EpochEvent::*field;
  double scale;

  std::string title_with_unit() const { return std::string(title) + unit; }
};
constexpr std::array<Measure, 3> kMeasures = {{
    {"test_accuracy", "test accuracy", ", %", &train::EpochEvent::test_accuracy, 100},
    {"train_loss", "training loss", "", &train::EpochEvent::train_loss, 1},
    {"test_loss", "test loss", "", &train::EpochEvent::test_loss, 1},
}};

// A method has a colour of its own, and so have its controls; dashes say which control it is.
LineStyle style_of(const Group& curve) {
  switch (curve.control) {
    case Control::matched:
      return {curve.row, Stroke::dashed};
    case Control::shuffled:
      return {curve.row, Stroke::dotted};
    case Control::replayed:
      return {curve.row, Stroke::dash_dotted};
    case Control::cosine:
      return {std::nullopt, Stroke::dash_dotted};
    case Control::none:
      return {curve.row, Stroke::solid};
  }
  throw Error("a curve has a control of no kind.");
}

// A line for the methods and one for the controls.
std::vector<std::vector<report::LegendKey>> legend_of(const TableRecipe& table,
                                                      const std::vector<Group>& curves) {
  std::vector<report::LegendKey> methods;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    if (std::ranges::count(curves, row, &Group::row) > 0)
      methods.push_back({table.rows[row].title, {row, Stroke::solid}});
  std::vector<report::LegendKey> controls;
  const auto add_control = [&](Control control, Stroke stroke, const char* text) {
    if (std::ranges::count(curves, control, &Group::control) > 0)
      controls.push_back({text, {std::nullopt, stroke}});
  };
  add_control(Control::matched, Stroke::dashed, "matched: AdamW × its mean brake");
  add_control(Control::shuffled, Stroke::dotted, "shuffled: AdamW × its brakes in random order");
  add_control(Control::replayed, Stroke::dash_dotted,
              "replayed (in colour): AdamW × the brakes of another seed");
  add_control(Control::cosine, Stroke::dash_dotted, "AdamW, cosine schedule");
  return {methods, controls};
}

std::string subtitle_of(const std::vector<Group>& curves) {
  std::set<std::size_t> seeds;
  for (const auto& curve : curves) seeds.insert(curve.runs.size());
  if (seeds.empty()) return "";
  std::string text;
  if (*seeds.rbegin() == 1)
    text = "One seed";
  else if (seeds.size() == 1)
    text = fmt::format("Mean of {} seeds, band ± one deviation", *seeds.begin());
  else
    text = fmt::format("Mean of {} to {} seeds, band ± one deviation", *seeds.begin(), *seeds.rbegin());
  if (std::ranges::any_of(curves, [](const Group& curve) { return curve.control != Control::none; }))
    text += "; thin lines: controls, in the colour of what they control";
  if (!std::ranges::all_of(curves, &Group::is_finished)) text += "; some runs are not finished";
  return text;
}

report::PictureCurve drawn(const TableRecipe& table, const Group& curve, const Measure& measure) {
  report::PictureCurve line{{}, style_of(curve), report::Ink::line, full_title_of(table, curve)};
  line.marks = report::Marks::at_points;
  for (const auto& [epoch, values] : values_by_epoch(curve.runs, measure.field, measure.scale)) {
    line.points.push_back({static_cast<double>(epoch), base::mean(values)});
    if (curve.control == Control::none) line.reach.push_back(base::deviation(values).value_or(NAN));
  }
  return line;
}

// "3", or "3–5" where the seeds disagree.
std::string best_epochs(const std::vector<report::RunSummary>& runs) {
  std::set<std::int64_t> epochs;
  for (const auto& run : runs)
    if (run.best_epoch) epochs.insert(*run.best_epoch);
  if (epochs.empty()) return "–";
  return epochs.size() == 1 ? fmt::format("{}", *epochs.begin())
                            : fmt::format("{}–{}", *epochs.begin(), *epochs.rbegin());
}

report::TextTable summary_of(const TableRecipe& table, const std::vector<Group>& curves, std::size_t column) {
  report::TextTable summary;
  summary.columns = {{"method", "method", Align::left},
                     {"best", "best, %", Align::right},
                     {"best_epoch", "in epoch", Align::right},
                     {"last", "last, %", Align::right},
                     {"train_loss", "last training loss", Align::right},
                     {"seeds", "seeds", Align::right}};
  for (const auto& curve : curves) {
    if (curve.column != column) continue;
    const auto result = result_of(table, curve, std::nullopt);
    const auto losses =
        values_of(curve.runs, [](const auto& run) { return std::optional(run.epochs.back().train_loss); });
    summary.add({full_title_of(table, curve) + (result.finished ? "" : " (unfinished)"),
                 mean_cell(result.best, 2), best_epochs(curve.runs), mean_cell(result.last, 2),
                 mean_cell(losses, 2), Cell::count(result.seeds)});
  }
  return summary;
}

Cell finite_number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Cell::number(*value, 4) : Cell();
}

}  // namespace

report::TextTable to_points(const Figure& figure, const Groups& curves) {
  const auto& table = figure.plan.table;
  report::TextTable points;
  for (const auto* key : {"figure", "column", "row", "control", "epoch", "seeds"})
    points.columns.push_back({key, key, report::Align::left});
  for (const auto& measure : kMeasures) {
    const std::string key = measure.key;
    points.columns.push_back({key, key, report::Align::right});
    points.columns.push_back(
        {fmt::format("{}_deviation", key), fmt::format("{} deviation", key), report::Align::right});
  }
  for (const auto& curve : curves.groups) {
    std::map<std::int64_t, std::vector<Cell>> rows;
    for (const auto& measure : kMeasures) {
      for (const auto& [epoch, values] : values_by_epoch(curve.runs, measure.field, measure.scale)) {
        auto& row = rows[epoch];
        if (row.empty())
          row = {Cell(figure.recipe.key),    Cell(table.columns[curve.column].key),
                 Cell(key_of(table, curve)), Cell(name_of(curve.control)),
                 Cell::count(epoch),         Cell::count(values.size())};
        row.push_back(finite_number(base::mean(values)));
        row.push_back(finite_number(base::deviation(values)));
      }
    }
    for (auto& [epoch, row] : rows) points.add(std::move(row));
  }
  return points;
}

FigureFiles write_figure(const Figure& figure, const Groups& curves, const std::filesystem::path& folder) {
  const auto file = [&](const char* end) { return folder / fmt::format("{}.{}", figure.name, end); };
  const FigureFiles files{file("svg"), report::draws_pdf() ? file("pdf") : "", file("csv")};
  std::filesystem::create_directories(folder);  // of recorded runs there may be none yet
  const auto picture = to_picture(figure, curves);
  write_picture(files.picture, picture);
  if (!files.printed.empty()) write_picture(files.printed, picture);
  base::write_file_atomically(files.numbers, to_csv(to_points(figure, curves)));
  return files;
}

report::Picture to_picture(const Figure& figure, const Groups& curves) {
  const auto& table = figure.plan.table;
  const auto& wanted = figure.recipe.measures;
  std::vector<report::PicturePanel> panels;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    for (const auto& measure : kMeasures) {
      if (!contains(wanted, measure.key)) continue;
      // One title a panel: the axis alone would be easy to miss.
      auto title = table.columns[column].title;
      if (wanted.size() > 1) title += fmt::format(": {}", measure.title);
      report::PicturePanel panel;
      panel.titles = {title, "epoch", measure.title_with_unit()};
      for (const auto& curve : curves.groups)
        if (curve.column == column) panel.curves.push_back(drawn(table, curve, measure));
      if (!panel.curves.empty()) panels.push_back(std::move(panel));
    }
  }
  report::Picture picture;
  picture.title = figure.recipe.title;
  picture.subtitle = subtitle_of(curves.groups);
  picture.legend = legend_of(table, curves.groups);
  // Several measures of one column stand side by side; of one measure, a square of panels is easiest to read.
  picture.rows = rows_of_charts(std::move(panels), wanted.size() > 1 ? wanted.size() : 3);
  return picture;
}

std::string to_report(const Figure& figure, const Groups& curves,
                      const std::map<std::size_t, std::string>& unavailable, const ReportStyle& style) {
  const auto& table = figure.plan.table;
  const auto width = style.markdown ? 0 : style.width;
  auto text = fmt::format("{}{}\n", style.markdown ? "# " : "", figure.recipe.title);
  const auto add = [&](const std::string& sentence) {
    text += fmt::format("\n{}\n", report::wrapped(sentence, width));
  };
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto summary = summary_of(table, curves.groups, column);
    if (summary.rows.empty()) continue;
    add((style.markdown ? "## " : "") + table.columns[column].title);
    text += fmt::format("\n{}", style.markdown ? to_markdown(summary) : to_text(summary, width));
  }
  return text + closing_text(figure.plan, curves, unavailable, style);
}

}  // namespace sadam::reproduce
