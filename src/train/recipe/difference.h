// Where two recipes differ.
#pragma once

#include <string>
#include <vector>

#include "train/recipe/recipe.h"

namespace sadam::train {

struct Difference {
  std::string field;   ///< "optimizer.probes"
  std::string first;   ///< its value in the first recipe, as TOML
  std::string second;  ///< and in the second
};

/// In the order of the recipe's fields. Left out are those that decide nothing about how a run goes, so that
/// they may change while it is under way: its title, where the data lies, how often it is saved.
std::vector<Difference> differences(const Recipe& first, const Recipe& second);

}  // namespace sadam::train
