#include "reproduce/missing.h"

#include <sadam/error.h>

#include <filesystem>
#include <utility>

#include "data/data_set_known.h"
#include "data/folder.h"
#include "reproduce/check_runs.h"
#include "train/setup.h"

namespace sadam::reproduce {
namespace {

void look_for_data(const train::DataRecipe& recipe) {
  if (const auto path = data::path_in_name(recipe.name)) {
    // Reading a folder of a million images takes its time; one that is not there says so at once.
    std::error_code unreadable;
    if (!std::filesystem::is_directory(*path, unreadable)) data::list_class_folders(*path);
    return;
  }
  const auto& set = data::known_set(recipe.name);
  if (set.kind != data::DataKind::synthetic) data::known_folder(set, recipe.root);
}

// The field that names what is missing, and how to get it; nothing if all is there.
std::pair<std::string, std::string> missing_of(const train::Recipe& recipe) {
  std::string field = "model.weights";
  try {
    if (!recipe.model.weights.empty()) train::weights_file(recipe);
    field = "data.name";
    look_for_data(recipe.data);
  } catch (const Error& error) {
    return {field, error.what()};
  }
  return {};
}

struct Lack {
  const PlannedRun* run = nullptr;
  std::string field;
  std::string sentence;
};

}  // namespace

std::map<std::size_t, std::string> missing_columns(const Plan& plan,
                                                   const std::vector<const PlannedRun*>& runs) {
  std::map<std::size_t, Lack> lacks;
  std::map<std::size_t, bool> some_can_run;
  for (const auto* run : runs) {
    auto [field, sentence] = missing_of(run->recipe);
    if (sentence.empty())
      some_can_run[run->column] = true;
    else
      lacks.try_emplace(run->column, Lack{run, std::move(field), std::move(sentence)});
  }
  std::map<std::size_t, std::string> columns;
  for (const auto& [column, lack] : lacks) {
    if (some_can_run[column]) throw Error(place_of(plan, *lack.run, lack.field) + lack.sentence);
    columns[column] = lack.sentence;
  }
  return columns;
}

}  // namespace sadam::reproduce
