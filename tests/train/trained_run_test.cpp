#include "train/trained_run.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include "base/file.h"
#include "base/usage_error.h"
#include "nn/weights/tensor_file.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"
#include "train/recipe/source.h"

namespace sadam::train {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;

using Metadata = std::map<std::string, std::string>;

std::optional<Recipe> recipe_in(const Metadata& metadata) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w.safetensors";
  base::write_file_atomically(path, weights::write_safetensors({}, metadata));
  return exported_recipe(path);
}

TEST(ExportedRecipe, IsTheOneThatWasStored) {
  Recipe recipe;
  recipe.model.bits = 5;
  recipe.data.name = "synthetic100";
  recipe.optimizer.name = "adamw";
  EXPECT_EQ(recipe_in({{"format", "pt"}, {"recipe", to_toml(recipe)}}), recipe);
}

TEST(ExportedRecipe, IsNothingWhereNoneWasStored) {
  EXPECT_EQ(recipe_in({}), std::nullopt);
  EXPECT_EQ(recipe_in({{"format", "pt"}}), std::nullopt);
}

TEST(ExportedRecipe, ThatIsMalformedIsRefusedWithTheFileTheReasonAndTheWayOut) {
  const auto expect = [](const std::string& recipe, const std::string& reason) {
    const auto sentence = refusal([&] {
      try {
        recipe_in({{"recipe", recipe}});
      } catch (const UsageError&) {
        ADD_FAILURE() << "the user is blamed for " << recipe;
      }
    });
    EXPECT_TRUE(says(sentence, "w.safetensors: the recipe in its metadata is malformed (" + reason));
    EXPECT_TRUE(says(sentence, "--ignore-recipe"));
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  };
  expect("a cake", "recipe:1: this is not TOML");
  expect("[model]\nbitz = 3\n", "recipe:2: 'model' has no field 'bitz'; did you mean 'bits'?)");
  expect("[model]\nbits = 1\n", "recipe:2: model.bits is 1; allowed are 2 to 8)");
  expect(" \n", "it is empty)");
}

}  // namespace
}  // namespace sadam::train
