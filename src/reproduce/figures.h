// Which figures are asked for, and the runs they are made from.
#pragma once

#include <string>
#include <vector>

#include "reproduce/plan.h"
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

}  // namespace sadam::reproduce
