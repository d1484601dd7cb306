// Training from epoch to epoch: as numbers, as a picture, and in words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/statistics.h"
#include "report/picture_file.h"
#include "reproduce/figures.h"

namespace sadam::reproduce {
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
    if (std::any_of(curves.begin(), curves.end(), [&](const Group& curve) { return curve.row == row; }))
      methods.push_back({table.rows[row].title, {row, Stroke::solid}});
  std::vector<report::LegendKey> controls;
  const auto add_control = [&](Control control, Stroke stroke, const char* text) {
    if (std::any_of(curves.begin(), curves.end(),
                    [&](const Group& curve) { return curve.control == control; }))
      controls.push_back({text, {std::nullopt, stroke}});
  };
  add_control(Control::matched, Stroke::dashed, "matched: AdamW × its mean brake");
  add_control(Control::shuffled, Stroke::dotted, "shuffled: AdamW × its brakes in random order");
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
  if (std::any_of(curves.begin(), curves.end(),
                  [](const Group& curve) { return curve.control != Control::none; }))
    text += "; thin lines: controls, in the colour of what they control";
  if (!std::all_of(curves.begin(), curves.end(), [](const Group& curve) { return curve.is_finished(); }))
    text += "; some runs are not finished";
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
                 mean_cell(losses, 2), Cell::count(static_cast<std::int64_t>(result.seeds))});
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
                 Cell::count(epoch),         Cell::count(static_cast<std::int64_t>(values.size()))};
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
  for (const auto& [column, why] : unavailable)
    add(fmt::format("{} is left out: {}", table.columns[column].title, why));
  for (const auto& sentence : curves.irregularities()) add(sentence);
  for (const auto& problem : curves.problems) add(problem);
  return fmt::format("{}\n{}", text, differences_text(figure.plan, style));
}

}  // namespace sadam::reproduce
