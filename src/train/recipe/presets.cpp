#include "train/recipe/presets.h"

namespace sadam::train {

void fill_in_preset(OptimizerRecipe& optimizer) {
  if (optimizer.name == "prox_sgd") optimizer.lr = 0.01;
  if (optimizer.preset == "paper") {
    optimizer.bias_correction = "none";
  } else if (optimizer.preset == "reference") {
    optimizer.directions = "per_tensor";
    optimizer.statistic = "unbiased_variance";
    optimizer.noise = "fresh";
    optimizer.bias_correction = "reference";
    optimizer.group_by_group = true;
  }
}

}  // namespace sadam::train
