// The paper's figures: which are asked for, the runs they are made from, and training from epoch to epoch
// over the seeds of these, as numbers, as a picture and in words.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/picture.h"
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
/// that is no figure, column or row.
std::vector<Figure> plan_figures(const std::vector<FigureRecipe>& recipes, const Request& request);

/// A row for each epoch of each group, for other programs: means and deviations over the seeds that have
/// reached it. A mean is left blank where it is no number for any seed: nothing is left out silently.
report::TextTable to_points(const Figure& figure, const Groups& curves);

/// A panel for each column that has curves and each measure of the figure.
report::Picture to_picture(const Figure& figure, const Groups& curves);

/// For each column and method the best accuracy, its epoch, and the last; what is not there, and why; what
/// differs from the paper. `unavailable` as execute() returns it.
std::string to_report(const Figure& figure, const Groups& curves,
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
FigureFiles write_figure(const Figure& figure, const Groups& curves, const std::filesystem::path& folder);

}  // namespace sadam::reproduce
