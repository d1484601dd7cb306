// What a control takes from the run it controls.
#pragma once

#include <vector>

#include "train/recipe/recipe.h"

namespace sadam::train {

/// Before a control begins: checks that the run it names is a finished S-Adam run, and puts the mean brake of
/// a `matched` control into the recipe, so that it is on record and the other run is needed no more.
void settle_control(Recipe& recipe);

/// The brakes that `recipe.control` asks for; empty if none. Those of a `shuffled` control are read from the
/// run that it names, in its first process; checkpoints keep them after that.
std::vector<double> brakes_of_control(const Recipe& recipe);

}  // namespace sadam::train
