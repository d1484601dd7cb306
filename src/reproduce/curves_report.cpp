// Curves as a person sees them: the picture, and the words below it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/statistics.h"
#include "report/text_table.h"
#include "reproduce/curves.h"

namespace sadam::reproduce {
namespace {

using report::Align;
using report::LineStyle;
using report::Stroke;

// A method has a colour of its own, and so have its controls; dashes say which control it is.
LineStyle style_of(const Curve& curve) {
  switch (curve.control) {
    case Control::matched:
      return {curve.row, Stroke::dashed};
    case Control::shuffled:
      return {curve.row, Stroke::dotted};
    case Control::cosine:
      return {std::nullopt, Stroke::dash_dotted};
    case Control::none:
      break;
  }
  return {curve.row, Stroke::solid};
}

std::string method_of(const TableRecipe& table, const Curve& curve) {
  if (curve.control == Control::cosine) return "AdamW, cosine schedule";
  const auto& title = table.rows[curve.row].title;
  return curve.control == Control::none ? title : title + ", " + to_string(curve.control);
}

bool is_unfinished(const Curve& curve) {
  return std::any_of(curve.runs.begin(), curve.runs.end(),
                     [](const auto& run) { return run.state != report::RunState::finished; });
}

// A line for the methods and one for the controls.
std::vector<std::vector<report::ChartKey>> legend_of(const TableRecipe& table,
                                                     const std::vector<Curve>& curves) {
  std::vector<report::ChartKey> methods;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    if (std::any_of(curves.begin(), curves.end(), [&](const Curve& curve) { return curve.row == row; }))
      methods.push_back({table.rows[row].title, {row, Stroke::solid}});
  std::vector<report::ChartKey> controls;
  const auto add_control = [&](Control control, Stroke stroke, const char* text) {
    if (std::any_of(curves.begin(), curves.end(),
                    [&](const Curve& curve) { return curve.control == control; }))
      controls.push_back({text, {std::nullopt, stroke}});
  };
  add_control(Control::matched, Stroke::dashed, "matched: AdamW × its mean brake");
  add_control(Control::shuffled, Stroke::dotted, "shuffled: AdamW × its brakes in random order");
  add_control(Control::cosine, Stroke::dash_dotted, "AdamW, cosine schedule");
  return {methods, controls};
}

std::string subtitle_of(const std::vector<Curve>& curves) {
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
                  [](const Curve& curve) { return curve.control != Control::none; }))
    text += "; thin lines: controls, in the colour of what they control";
  if (std::any_of(curves.begin(), curves.end(), is_unfinished)) text += "; some runs are not finished";
  return text;
}

report::ChartSeries series_of(const TableRecipe& table, const Curve& curve, const CurveMeasure& measure) {
  report::ChartSeries series{method_of(table, curve), style_of(curve), {}};
  for (const auto& point : curve.points) {
    const auto& values = point.*measure.values;
    series.points.push_back({static_cast<double>(point.epoch), values.mean, values.deviation});
  }
  return series;
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

template <class Get>
report::Cell mean_cell(const std::vector<report::RunSummary>& runs, const Get& get) {
  std::vector<double> values;
  for (const auto& run : runs)
    if (const std::optional<double> value = get(run)) values.push_back(*value);
  if (values.empty()) return {};
  return {report::mean(values), report::with_deviation(values, 2)};
}

report::TextTable summary_of(const TableRecipe& table, const std::vector<Curve>& curves, std::size_t column) {
  report::TextTable summary;
  summary.columns = {{"method", "method", Align::left},
                     {"best", "best, %", Align::right},
                     {"best_epoch", "in epoch", Align::right},
                     {"last", "last, %", Align::right},
                     {"train_loss", "last training loss", Align::right},
                     {"seeds", "seeds", Align::right}};
  const auto as_percent = [](std::optional<double> fraction) {
    return fraction ? std::optional(100 * *fraction) : std::nullopt;
  };
  for (const auto& curve : curves) {
    if (curve.column != column) continue;
    summary.add(
        {method_of(table, curve) + (is_unfinished(curve) ? " (unfinished)" : ""),
         mean_cell(curve.runs, [&](const auto& run) { return as_percent(run.best_accuracy); }),
         best_epochs(curve.runs),
         mean_cell(curve.runs, [&](const auto& run) { return as_percent(run.last_accuracy); }),
         mean_cell(curve.runs, [](const auto& run) { return std::optional(run.epochs.back().train_loss); }),
         report::Cell::count(static_cast<std::int64_t>(curve.runs.size()))});
  }
  return summary;
}

}  // namespace

report::LineChart to_chart(const Figure& figure, const Curves& curves) {
  const auto& table = figure.plan.table;
  report::LineChart chart;
  chart.title = figure.recipe.title;
  chart.subtitle = subtitle_of(curves.curves);
  chart.legend = legend_of(table, curves.curves);
  const auto& wanted = figure.recipe.measures;
  // Several measures of one column stand side by side; of one measure, a square of panels is easiest to read.
  chart.across = wanted.size() > 1 ? wanted.size() : 3;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    for (const auto& key : wanted) {
      const auto& measures = curve_measures();
      const auto measure = std::find_if(measures.begin(), measures.end(),
                                        [&](const CurveMeasure& known) { return known.key == key; });
      if (measure == measures.end()) continue;
      report::ChartPanel panel{table.columns[column].title, "epoch", std::string(measure->title), {}};
      for (const auto& curve : curves.curves)
        if (curve.column == column) panel.series.push_back(series_of(table, curve, *measure));
      if (!panel.series.empty()) chart.panels.push_back(std::move(panel));
    }
  }
  return chart;
}

std::string to_report(const Figure& figure, const Curves& curves,
                      const std::map<std::size_t, std::string>& unavailable, const ReportStyle& style) {
  const auto& table = figure.plan.table;
  const auto width = style.markdown ? 0 : style.width;
  std::string text = (style.markdown ? "# " : "") + figure.recipe.title + "\n";
  const auto add = [&](const std::string& sentence) {
    text += "\n" + report::wrapped(sentence, width) + "\n";
  };
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto summary = summary_of(table, curves.curves, column);
    if (summary.rows.empty()) continue;
    add((style.markdown ? "## " : "") + table.columns[column].title);
    text += "\n" + (style.markdown ? to_markdown(summary) : to_text(summary, width));
  }
  for (const auto& [column, why] : unavailable) add(table.columns[column].title + " is left out: " + why);
  for (const auto& sentence : curves.irregularities) add(sentence);
  for (const auto& problem : curves.problems) add(problem);
  return text + "\n" + differences_text(figure.plan, style);
}

}  // namespace sadam::reproduce
