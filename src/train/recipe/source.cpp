#include "train/recipe/source.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "train/recipe/check.h"
#include "train/recipe/toml.h"

namespace sadam::train {

struct RecipeSource::Layers {
  std::vector<Entry> entries;  ///< in the order in which they came: later ones win
  /// What a run writes about itself beside its recipe is nobody's choice.
  std::vector<std::string> ignored{"run"};

  bool ignores(const Entry& entry) const {
    const auto& outer = entry.table.empty() ? entry.key : entry.table;
    return std::find(ignored.begin(), ignored.end(), outer) != ignored.end();
  }
};

RecipeSource::RecipeSource() : layers_(std::make_unique<Layers>()) {}
RecipeSource::RecipeSource(const RecipeSource& other) : layers_(std::make_unique<Layers>(*other.layers_)) {}
RecipeSource& RecipeSource::operator=(const RecipeSource& other) {
  *layers_ = *other.layers_;
  return *this;
}
RecipeSource::~RecipeSource() = default;

void RecipeSource::add_text(std::string_view toml, std::string_view origin) {
  auto entries = read_entries(toml, origin);
  layers_->entries.insert(layers_->entries.end(), std::make_move_iterator(entries.begin()),
                          std::make_move_iterator(entries.end()));
}

void RecipeSource::add_file(const std::filesystem::path& path) {
  const auto bytes = base::read_file(path);
  add_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

void RecipeSource::set(std::string_view assignment, std::string_view where) {
  const auto trimmed = [](std::string_view text) {
    const auto first = text.find_first_not_of(' ');
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
  };
  const auto place = where.empty() ? "--set" : fmt::format("{}:", where);
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw UsageError(fmt::format("{} {} has no '='; write a field and its value, such as optimizer.probes=8.",
                                 place, base::in_quotes(assignment)));
  const auto name = trimmed(assignment.substr(0, equals));
  const auto given = trimmed(assignment.substr(equals + 1));
  const auto dot = name.find('.');
  Entry entry;
  if (dot != std::string_view::npos) entry.table = name.substr(0, dot);
  entry.key = dot == std::string_view::npos ? name : name.substr(dot + 1);
  entry.where = where.empty() ? fmt::format("--set {}", name) : std::string(where);
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
  layers_->entries.push_back(std::move(entry));
}

void RecipeSource::ignore(std::string_view table_name) { layers_->ignored.emplace_back(table_name); }

Recipe RecipeSource::resolve() const {
  struct Given {
    const FieldRow* row;
    const Entry* entry;
  };
  std::vector<Given> given;
  for (const auto& entry : layers_->entries) {
    if (layers_->ignores(entry)) continue;
    if (const auto* const row = checked_row(entry)) given.push_back({row, &entry});
  }
  Recipe recipe;
  // The two that decide what the others are when they are not given come first.
  for (const auto& [row, entry] : given) {
    if (row->table == "optimizer" && (row->key == "name" || row->key == "preset"))
      assign(*row, *entry, recipe);
  }
  fill_in_preset(recipe.optimizer);
  for (const auto& [row, entry] : given) assign(*row, *entry, recipe);
  const bool brake_given = std::any_of(given.begin(), given.end(), [](const Given& each) {
    return each.row->table == "control" && each.row->key == "brake";
  });
  check_together(recipe, brake_given);
  return recipe;
}

std::string RecipeSource::where(std::string_view field) const {
  const auto* const row = find_row(field);
  std::string place;
  for (const auto& entry : layers_->entries)
    if (!entry.opens_table && find_row(entry.table, entry.key) == row && row != nullptr) place = entry.where;
  return place;
}

#define SADAM_SET(name, value) optimizer.name = in_recipe(value);

void fill_in_preset(OptimizerRecipe& optimizer) {
  if (optimizer.name == name_of(OptimizerKind::prox_sgd)) optimizer.lr = kProxLearningRate;
  if (optimizer.preset == "paper") {
    SADAM_PAPER_PRESET(SADAM_SET)
  } else if (optimizer.preset == "reference") {
    SADAM_REFERENCE_PRESET(SADAM_SET)
  } else if (optimizer.preset != "default") {
    throw UsageError(
        fmt::format("optimizer.preset is '{}'; use default, paper or reference.", optimizer.preset));
  }
}

#undef SADAM_SET

Recipe recipe_of(const RunPaths& paths) {
  const auto bytes = base::read_file(paths.recipe());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // It would be read as the default recipe, which is hardly what was trained.
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
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
