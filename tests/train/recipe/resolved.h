// Recipes from a line or two.
#pragma once

#include <initializer_list>
#include <string_view>

#include "train/recipe/source.h"

namespace sadam::train::testing {

/// The recipe that a text and some --set make.
inline Recipe resolved(std::string_view toml, std::initializer_list<std::string_view> sets = {}) {
  RecipeSource source;
  source.add_text(toml, "r.toml");
  for (const auto set : sets) source.set(set);
  return source.resolve();
}

}  // namespace sadam::train::testing
