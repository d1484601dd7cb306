#include "train/recipe/run_recipe.h"

#include <sadam/error.h>

#include "base/file.h"
#include "train/recipe/source.h"

namespace sadam::train {

Recipe recipe_of(const RunPaths& paths) {
  const auto bytes = base::read_file(paths.recipe());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // It would be read as the default recipe, which is hardly what was trained.
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw Error(
        paths.recipe().string() +
        " is empty, so nothing says what the run was told: put its recipe back, or start the run anew.");
  RecipeSource source;
  source.add_text(text, paths.recipe().string());
  return source.resolve();
}

}  // namespace sadam::train
