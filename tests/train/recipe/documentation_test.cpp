// docs/recipes.md and the table of fields say the same. (The test runs in the root of the source.)
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "base/support.h"
#include "train/recipe/resolved.h"

namespace sadam::train {
namespace {

const std::string& documentation() {
  static const auto text = sadam::testing::text_of_file("docs/recipes.md");
  return text;
}

TEST(Documentation, HasARowForEveryFieldWithItsDefaultAndMeaning) {
  for (const auto& field : recipe_fields()) {
    const auto row =
        "| `" + field.name + "` | " + field.type + " | `" + field.standard + "` | " + field.meaning;
    EXPECT_NE(std::string::npos, documentation().find(row)) << "docs/recipes.md lacks the row\n"
                                                            << row << " |";
  }
}

TEST(Documentation, NamesNoFieldThatDoesNotExist) {
  std::map<std::string, int> rows;
  std::istringstream lines(documentation());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) ++rows[line.substr(3, line.find('`', 3) - 3)];
  }
  for (const auto& field : recipe_fields()) rows.erase(field.name);
  for (const auto& [name, count] : rows) ADD_FAILURE() << "docs/recipes.md has a row for " << name;
}

TEST(Documentation, ItsExamplesResolve) {
  std::size_t examples = 0;
  const std::string opening = "```toml\n";
  for (auto at = documentation().find(opening); at != std::string::npos;
       at = documentation().find(opening, at + 1)) {
    const auto begin = at + opening.size();
    const auto example = documentation().substr(begin, documentation().find("```", begin) - begin);
    EXPECT_NO_THROW(testing::resolved(example)) << example;
    ++examples;
  }
  EXPECT_GE(examples, 2U);
}

TEST(RecipeFields, AreDescribedInFull) {
  ASSERT_GT(recipe_fields().size(), 40U);
  for (const auto& field : recipe_fields()) {
    EXPECT_TRUE(field.meaning.ends_with(".")) << field.name;
    EXPECT_FALSE(field.standard.empty()) << field.name;
    // The default is valid.
    EXPECT_NO_THROW(testing::resolved(field.name + " = " + field.standard)) << field.name;
  }
}

}  // namespace
}  // namespace sadam::train
