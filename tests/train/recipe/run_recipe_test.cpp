#include "train/recipe/source.h"

#include <gtest/gtest.h>

#include "base/usage_error.h"
#include "support/files.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using sadam::testing::TemporaryFolder;
using sadam::testing::write_text;

TEST(RecipeOfARun, IsWhatItsFileSaysAndNothingElseIsTakenForOne) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  EXPECT_TRUE(says(refusal([&] { recipe_of(paths); }), "cannot open " + paths.recipe().string()));
  Recipe recipe;
  recipe.seed = 7;
  write_text(paths.recipe(), to_toml(recipe) + "\n[run]\nsadam = \"0\"\n");
  EXPECT_EQ(recipe_of(paths), recipe);
  for (const char* empty : {"", " \r\n\t\n"}) {
    write_text(paths.recipe(), empty);
    EXPECT_TRUE(says(refusal([&] { recipe_of(paths); }), paths.recipe().string() + " is empty"));
  }
  write_text(paths.recipe(), "seed = \n");
  EXPECT_TRUE(says(refusal<Error>([&] { recipe_of(paths); }), paths.recipe().string() + ":1"));
  write_text(paths.recipe(), "seeed = 7\n");
  EXPECT_TRUE(says(refusal<UsageError>([&] { recipe_of(paths); }), paths.recipe().string() + ":1"));
}

}  // namespace
}  // namespace sadam::train
