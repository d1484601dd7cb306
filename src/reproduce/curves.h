// Training from epoch to epoch, over the seeds of a figure's runs: as numbers, as a picture, in words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/line_chart.h"
#include "report/text_table.h"
#include "reproduce/figures.h"
#include "reproduce/groups.h"
#include "reproduce/render.h"

namespace sadam::reproduce {

/// Over the seeds that have reached the epoch.
struct SeedMean {
  double mean = 0;                  ///< NaN if it is NaN for any seed: nothing is left out silently
  std::optional<double> deviation;  ///< none for one seed
};

struct CurvePoint {
  std::int64_t epoch = 0;
  std::size_t seeds = 0;
  SeedMean test_accuracy;  ///< in per cent
  SeedMean train_loss;
  SeedMean test_loss;
};

/// A group of runs from epoch to epoch.
struct Curve : Group {
  std::vector<CurvePoint> points;  ///< by epoch
};

struct Curves {
  std::vector<Curve> curves;                ///< as read_groups() orders them
  std::vector<std::string> problems;        ///< a sentence for each run whose files are cut short or damaged
  std::vector<std::string> irregularities;  ///< sentences on steps that were skipped and the like
};

/// From whatever runs are there.
Curves read_curves(const Plan& plan);

/// A row for each point, for other programs.
report::TextTable to_points(const Figure& figure, const Curves& curves);

/// A panel for each column that has curves and each measure of the figure.
report::LineChart to_chart(const Figure& figure, const Curves& curves);

/// For each column and method the best accuracy, its epoch, and the last; what is not there, and why; what
/// differs from the paper. `unavailable` as execute() returns it.
std::string to_report(const Figure& figure, const Curves& curves,
                      const std::map<std::size_t, std::string>& unavailable, const ReportStyle& style);

struct FigureFiles {
  std::filesystem::path picture;  ///< NAME.svg
  std::filesystem::path numbers;  ///< NAME.csv
};

/// Puts the picture and its numbers into a folder, instead of earlier ones.
FigureFiles write_figure(const Figure& figure, const Curves& curves, const std::filesystem::path& folder);

/// Something that changes from epoch to epoch.
struct CurveMeasure {
  std::string_view key;    ///< "test_accuracy"
  std::string_view title;  ///< "test accuracy, %"
  SeedMean CurvePoint::*values;
};
const std::vector<CurveMeasure>& curve_measures();

}  // namespace sadam::reproduce
