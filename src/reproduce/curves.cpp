#include "reproduce/curves.h"

#include <cmath>
#include <utility>

#include "base/file.h"
#include "report/statistics.h"

namespace sadam::reproduce {
namespace {

using report::Cell;

SeedMean over_seeds(const std::vector<const train::EpochEvent*>& epochs, double train::EpochEvent::*field,
                    double scale) {
  std::vector<double> values;
  for (const auto* epoch : epochs) values.push_back(scale * epoch->*field);
  return {report::mean(values), report::deviation(values)};
}

std::vector<CurvePoint> points_of(const std::vector<report::RunSummary>& runs) {
  std::map<std::int64_t, std::vector<const train::EpochEvent*>> by_epoch;
  for (const auto& run : runs)
    for (const auto& epoch : run.epochs) by_epoch[epoch.epoch].push_back(&epoch);
  std::vector<CurvePoint> points;
  for (const auto& [epoch, events] : by_epoch)
    points.push_back({epoch, events.size(), over_seeds(events, &train::EpochEvent::test_accuracy, 100),
                      over_seeds(events, &train::EpochEvent::train_loss, 1),
                      over_seeds(events, &train::EpochEvent::test_loss, 1)});
  return points;
}

Cell finite_number(double value) { return std::isfinite(value) ? Cell::number(value, 4) : Cell(); }

}  // namespace

Curves read_curves(const Plan& plan) {
  auto read = read_groups(plan);
  Curves result{{}, std::move(read.problems), read.irregularities()};
  for (auto& group : read.groups) {
    auto points = points_of(group.runs);
    result.curves.push_back({std::move(group), std::move(points)});
  }
  return result;
}

const std::vector<CurveMeasure>& curve_measures() {
  static const std::vector<CurveMeasure> measures = {
      {"test_accuracy", "test accuracy, %", &CurvePoint::test_accuracy},
      {"train_loss", "training loss", &CurvePoint::train_loss},
      {"test_loss", "test loss", &CurvePoint::test_loss},
  };
  return measures;
}

report::TextTable to_points(const Figure& figure, const Curves& curves) {
  const auto& table = figure.plan.table;
  report::TextTable points;
  for (const auto* key : {"figure", "column", "row", "control", "epoch", "seeds"})
    points.columns.push_back({key, key, report::Align::left});
  for (const auto& measure : curve_measures()) {
    const std::string key(measure.key);
    points.columns.push_back({key, key, report::Align::right});
    points.columns.push_back({key + "_deviation", key + " deviation", report::Align::right});
  }
  for (const auto& curve : curves.curves) {
    for (const auto& point : curve.points) {
      std::vector<Cell> row = {
          Cell(figure.recipe.key),    Cell(table.columns[curve.column].key),
          Cell(key_of(table, curve)), Cell(to_string(curve.control)),
          Cell::count(point.epoch),   Cell::count(static_cast<std::int64_t>(point.seeds))};
      for (const auto& measure : curve_measures()) {
        const auto& values = point.*measure.values;
        row.push_back(finite_number(values.mean));
        row.push_back(values.deviation ? finite_number(*values.deviation) : Cell());
      }
      points.add(std::move(row));
    }
  }
  return points;
}

FigureFiles write_figure(const Figure& figure, const Curves& curves, const std::filesystem::path& folder) {
  const FigureFiles files{folder / (figure.name + ".svg"), folder / (figure.name + ".csv")};
  base::write_file_atomically(files.picture, to_svg(to_chart(figure, curves)));
  base::write_file_atomically(files.numbers, to_csv(to_points(figure, curves)));
  return files;
}

}  // namespace sadam::reproduce
