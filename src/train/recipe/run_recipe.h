// The recipe of a run that was begun, from its folder.
#pragma once

#include "train/recipe/recipe.h"
#include "train/record/run_folder.h"

namespace sadam::train {

/// Throws an Error for a run.toml that is not there, or empty, and a UsageError for one that is no recipe.
Recipe recipe_of(const RunPaths& paths);

}  // namespace sadam::train
