#include "train/recipe/source.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "train/recipe/toml.h"

namespace sadam::train {

void RecipeSource::add_text(std::string_view toml, std::string_view origin) {
  const auto entries = read_entries(toml, origin);
  entries_.insert(entries_.end(), entries.begin(), entries.end());
}

void RecipeSource::add_file(const std::filesystem::path& path) {
  add_text(base::read_text(path), path.string());
}

void RecipeSource::set(std::string_view assignment, std::string_view where) {
  const auto place = where.empty() ? "--set" : fmt::format("{}:", where);
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw UsageError(fmt::format("{} {} has no '='; write a field and its value, such as optimizer.probes=8.",
                                 place, base::in_quotes(assignment)));
  const auto name = base::trimmed(assignment.substr(0, equals));
  const auto given = base::trimmed(assignment.substr(equals + 1));
  auto entry = entry_about(name, where.empty() ? fmt::format("--set {}", name) : std::string(where));
  const bool is_value = read_value(given, entry.value);
  const auto* const row = checked_row(entry);
  if (row == nullptr)
    throw UsageError(
        fmt::format("{} {} names no field; write a field and its value, such as optimizer.probes=8.", place,
                    base::in_quotes(assignment)));
  // Text needs no quotes here, also where it looks like something else: title=2024.
  Recipe scratch;
  const bool wants_text = std::holds_alternative<std::string*>(row->slot(scratch));
  if (!is_value || (wants_text && !std::holds_alternative<std::string>(entry.value))) {
    std::string text(given);
    if (!read_value(to_toml(Slot(&text)), entry.value))
      throw UsageError(fmt::format("{}: the value {} is not UTF-8.", entry.where, base::in_quotes(given)));
  }
  entries_.push_back(std::move(entry));
}

void RecipeSource::ignore(std::string_view table_name) { ignored_.emplace_back(table_name); }

bool RecipeSource::ignores(const Entry& entry) const {
  const auto& outer = entry.table.empty() ? entry.key : entry.table;
  return std::ranges::find(ignored_, outer) != ignored_.end();
}

Recipe RecipeSource::resolve() const {
  struct Given {
    const FieldRow* row;
    const Entry* entry;
  };
  std::vector<Given> given;
  for (const auto& entry : entries_) {
    if (ignores(entry)) continue;
    if (const auto* const row = checked_row(entry)) given.push_back({row, &entry});
  }
  Recipe recipe;
  // The two that decide what the others are when they are not given come first.
  for (const auto& [row, entry] : given) {
    if (row->table == "optimizer" && (row->key == "name" || row->key == "preset"))
      assign(*row, *entry, recipe);
  }
  recipe.optimizer = plain_optimizer(recipe.optimizer);
  for (const auto& [row, entry] : given) assign(*row, *entry, recipe);
  const bool brake_given = std::ranges::any_of(
      given, [](const Given& each) { return each.row->table == "control" && each.row->key == "brake"; });
  check_together(recipe, brake_given);
  return recipe;
}

std::string RecipeSource::where(std::string_view field) const {
  const auto* const row = find_row(field);
  std::string place;
  for (const auto& entry : entries_)
    if (!entry.opens_table && find_row(entry.table, entry.key) == row && row != nullptr) place = entry.where;
  return place;
}

#define SADAM_SET(option, value) plain.option = in_recipe(value);

OptimizerRecipe plain_optimizer(const OptimizerRecipe& optimizer) {
  OptimizerRecipe plain;
  plain.name = optimizer.name;
  plain.preset = optimizer.preset;
  if (plain.name == name_of(OptimizerKind::prox_sgd)) plain.lr = kProxLearningRate;
  if (plain.preset == "paper") {
    SADAM_PAPER_PRESET(SADAM_SET)
  } else if (plain.preset == "reference") {
    SADAM_REFERENCE_PRESET(SADAM_SET)
  }
  return plain;
}

#undef SADAM_SET

Recipe recipe_in(std::string_view text, std::string_view origin) {
  RecipeSource source;
  source.add_text(text, origin);
  return source.resolve();
}

Recipe recipe_of(const RunPaths& paths) {
  const auto text = base::read_text(paths.recipe());
  // It would be read as the default recipe, which is hardly what was trained.
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw Error(fmt::format(
        "{} is empty, so nothing says what the run was told: put its recipe back, or start the run anew.",
        paths.recipe().string()));
  RecipeSource source;
  try {
    source.add_text(text, paths.recipe().string());
  } catch (const UsageError& error) {
    throw Error(error.what());  // the program wrote it, so it is damaged
  }
  return source.resolve();
}

}  // namespace sadam::train
