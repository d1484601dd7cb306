// What an optimizer's fields are before any of them is given.
#pragma once

#include "train/recipe/recipe.h"

namespace sadam::train {

/// Starts from `name` and `preset`, which are valid; mirrors the presets of sadam::SAdamOptions.
void fill_in_preset(OptimizerRecipe& optimizer);

}  // namespace sadam::train
