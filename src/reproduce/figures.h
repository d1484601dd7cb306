// The paper's figures: which are asked for, the runs they are made from, and training from epoch to epoch
// over the seeds of these, as numbers, as a picture and in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/line_chart.h"
#include "report/text_table.h"
#include "reproduce/plan.h"
#include "reproduce/render.h"
#include "reproduce/results.h"
#include "reproduce/table_recipe.h"

namespace sadam::reproduce {

struct Figure {
  FigureRecipe recipe;
  Plan plan;
  std::string name;  ///< of its files: "quantization", "quantization-quick"
};

/// The figures of recipes/curves.toml.
std::vector<FigureRecipe> built_in_figures();

/// `request.only` may also name figures ("quantization"), alone or before a column or row of theirs
/// ("quantization/adamw"). Figures of which nothing is asked for are left out. Throws a UsageError for a name
/// that is no figure, column or row, and for a recipe that names what its table does not have.
std::vector<Figure> plan_figures(const std::vector<FigureRecipe>& recipes, const Request& request);

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

/// Something that changes from epoch to epoch.
struct CurveMeasure {
  std::string_view key;    ///< "test_accuracy"
  std::string_view title;  ///< "test accuracy, %"
  SeedMean CurvePoint::*values;
};
/// Throws a UsageError that names the figure, with the nearest name.
const CurveMeasure& measure_named(const FigureRecipe& figure, const std::string& key);

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

/// Of the tables that these runs were made for: the built-in figures of each, and one of all its columns and
/// rows with accuracy and loss. The plans have those of the runs that are theirs.
std::vector<Figure> figures_of(const std::vector<const report::RunSummary*>& runs);

struct FigureFiles {
  std::filesystem::path picture;  ///< NAME.svg
  std::filesystem::path printed;  ///< NAME.pdf; none without librsvg
  std::filesystem::path numbers;  ///< NAME.csv
};

/// Puts the picture and its numbers into a folder, instead of earlier ones.
FigureFiles write_figure(const Figure& figure, const Curves& curves, const std::filesystem::path& folder);

}  // namespace sadam::reproduce
