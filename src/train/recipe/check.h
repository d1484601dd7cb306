// What a recipe may say: names, types and ranges, one by one and together. Every refusal is a UsageError.
#pragma once

#include "train/recipe/fields.h"
#include "train/recipe/recipe.h"
#include "train/recipe/toml.h"

namespace sadam::train {

/// The row that an entry is about; null if it opens a table. Refuses what is no field and no table.
const FieldRow* checked_row(const Entry& entry);

/// Puts the entry's value where the row says. Refuses a wrong type and a value out of range.
void assign(const FieldRow& row, const Entry& entry, Recipe& recipe);

/// Refuses fields that contradict each other, and a control that would change nothing. `brake_given`: whether
/// control.brake is what somebody wrote, and not its default.
void check_together(const Recipe& recipe, bool brake_given);

}  // namespace sadam::train
