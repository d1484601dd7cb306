// docs/recipes.md and the table of fields say the same. (The test runs in the root of the source.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "support/files.h"
#include "train/recipe/resolved.h"

namespace sadam::train {
namespace {

const std::string& documentation() {
  static const auto text = sadam::testing::text_of_file("docs/recipes.md");
  return text;
}

/// The optimizers' options are explained in docs/options.md and docs/rivals.md, by the same names.
bool is_option(const std::string& field) {
  return field.starts_with("optimizer.") && field != "optimizer.name" && field != "optimizer.preset";
}

TEST(Documentation, HasARowForEveryFieldWithItsDefaultAndMeaning) {
  for (const auto& field : recipe_fields()) {
    const auto row = fmt::format("| `{}` | `{}` | {} |", field.name, field.standard, field.meaning);
    EXPECT_NE(is_option(field.name), documentation().find(row) != std::string::npos)
        << "docs/recipes.md lacks the row\n"
        << row;
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

template <class T>
std::string allowed(const OptionRange& range) {
  if constexpr (std::is_enum_v<T>)
    return "below";
  else if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else
    return describe(range);
}

// Every row that docs/options.md or docs/rivals.md must have.
std::vector<std::string> option_rows() {
  std::vector<std::string> rows;
#define SADAM_ROW(type, name, usual, range, meaning)                                     \
  rows.push_back(fmt::format("| `{}` | `{}` | {} | {} |", #name, in_recipe<type>(usual), \
                             allowed<type>(range), meaning));
  SADAM_LEARNING_RATE(SADAM_ROW, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_ROW)
  SADAM_BRAKE_OPTIONS(SADAM_ROW)
  SADAM_PROBE_OPTIONS(SADAM_ROW)
  SADAM_SEED_OPTION(SADAM_ROW)
  SADAM_PROX_OPTIONS(SADAM_ROW)
  SADAM_GRADIENT_OPTIONS(SADAM_ROW)
  SADAM_BOUND_OPTIONS(SADAM_ROW)
#undef SADAM_ROW
#define SADAM_ROW(name, meaning, ...) rows.push_back(fmt::format("| `{}` | {} |", #name, meaning));
  SADAM_DIRECTIONS(SADAM_ROW)
  SADAM_STATISTICS(SADAM_ROW)
  SADAM_BRAKES(SADAM_ROW)
  SADAM_PROBE_NOISES(SADAM_ROW)
  SADAM_BIAS_CORRECTIONS(SADAM_ROW)
  SADAM_GRADIENT_PLACES(SADAM_ROW)
#undef SADAM_ROW
  return rows;
}

TEST(Documentation, HasARowForEveryOptionAndEveryChoice) {
  const auto options =
      sadam::testing::text_of_file("docs/options.md") + sadam::testing::text_of_file("docs/rivals.md");
  for (const auto& row : option_rows())
    EXPECT_NE(std::string::npos, options.find(row)) << "docs/options.md and rivals.md lack the row\n" << row;
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
