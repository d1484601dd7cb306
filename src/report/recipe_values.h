// A recipe as names and values, for tables that put recipes side by side.
#pragma once

#include <string>
#include <vector>

#include "report/text_table.h"
#include "train/recipe/fields.h"
#include "train/recipe/recipe.h"

namespace sadam::report {

struct RecipeValue {
  std::string name;  ///< "optimizer.probes"
  Cell cell;         ///< empty where the field decides nothing, as `optimizer.probes` for AdamW
};

/// Empty where the field decides nothing.
Cell recipe_value(const train::FieldRow& field, train::Recipe recipe);

/// Every field, in the order in which they are written.
std::vector<RecipeValue> recipe_values(const train::Recipe& recipe);

/// "qatnet 2-bit", "resnet18".
std::string short_model(const train::Recipe& recipe);

/// The optimizer in a few words: "sadam k=2 reference", "adamw matched", "adamw cosine lr=0.0005". Whatever
/// departs from the preset is named.
std::string short_optimizer(const train::Recipe& recipe);

}  // namespace sadam::report
