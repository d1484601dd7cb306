#include "report/recipe_values.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "train/recipe/field_table.h"
#include "train/recipe/presets.h"

namespace sadam::report {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool optimizer_field_applies(const train::Recipe& recipe, std::string_view field) {
  const auto& optimizer = recipe.optimizer.name;
  if (is_one_of(field, {"name", "lr"})) return true;
  if (field == "bias_correction") return optimizer == "sadam" || recipe.control.kind != "none";
  if (is_one_of(field, {"momentum", "l1"})) return optimizer == "prox_sgd";
  if (is_one_of(field, {"beta1", "beta2", "eps", "weight_decay"})) return optimizer != "prox_sgd";
  return optimizer == "sadam";
}

bool schedule_field_applies(std::string_view schedule, std::string_view field) {
  if (field == "floor") return schedule == "cosine";
  if (is_one_of(field, {"every", "factor"})) return schedule == "step";
  if (field == "power") return schedule == "inverse_power";
  return true;
}

bool control_field_applies(std::string_view kind, std::string_view field) {
  if (field == "run") return is_one_of(kind, {"matched", "shuffled"});
  if (field == "brake") return is_one_of(kind, {"matched", "constant"});
  return true;
}

Cell cell_of(std::string text) { return text; }
Cell cell_of(std::int64_t number) { return Cell::count(number); }
Cell cell_of(double number) { return {number, fmt::format("{}", number)}; }
Cell cell_of(bool truth) { return {truth, truth ? "true" : "false"}; }

/// What the optimizer would be if nothing but its name and preset were given.
train::Recipe plain_optimizer(const train::Recipe& recipe) {
  train::Recipe plain;
  plain.optimizer.name = recipe.optimizer.name;
  plain.optimizer.preset = recipe.optimizer.preset;
  plain.control.kind = recipe.control.kind;  // decides which fields count
  train::fill_in_preset(plain.optimizer);
  return plain;
}

}  // namespace

bool field_applies(const train::Recipe& recipe, std::string_view name) {
  const auto dot = name.find('.');
  const auto section = name.substr(0, dot);
  const auto field = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  if (section == "optimizer") return optimizer_field_applies(recipe, field);
  if (section == "schedule") return schedule_field_applies(recipe.schedule.name, field);
  if (section == "control") return control_field_applies(recipe.control.kind, field);
  if (section == "model" && is_one_of(field, {"bits", "dropout"})) return recipe.model.name == "qatnet";
  return true;
}

std::vector<RecipeValue> recipe_values(const train::Recipe& recipe) {
  auto copy = recipe;  // the table of fields points into a recipe that may be written to
  std::vector<RecipeValue> values;
  for (const auto& row : train::field_table()) {
    auto& value = values.emplace_back();
    value.name = row.name();
    if (field_applies(recipe, value.name))
      value.cell = std::visit([](const auto* field) { return cell_of(*field); }, row.slot(copy));
  }
  return values;
}

std::string short_model(const train::Recipe& recipe) {
  auto text = recipe.model.name;
  if (field_applies(recipe, "model.bits")) text += fmt::format(" {}-bit", recipe.model.bits);
  return text;
}

std::string short_optimizer(const train::Recipe& recipe) {
  const auto& optimizer = recipe.optimizer;
  auto text = optimizer.name;
  if (optimizer.name == "sadam") {
    text += fmt::format(" k={}", optimizer.probes);
    if (optimizer.preset != "default") text += ' ' + optimizer.preset;
  }
  if (recipe.control.kind != "none") text += ' ' + recipe.control.kind;
  if (recipe.control.kind == "constant") text += fmt::format(" {}", recipe.control.brake);
  if (recipe.schedule.name != "constant") text += ' ' + recipe.schedule.name;

  auto plain = plain_optimizer(recipe);
  plain.optimizer.probes = optimizer.probes;
  const auto before = recipe_values(plain);
  const auto now = recipe_values(recipe);
  constexpr std::string_view section = "optimizer.";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].name.rfind(section, 0) == 0 && now[i].cell.value != before[i].cell.value)
      text += ' ' + now[i].name.substr(section.size()) + '=' + now[i].cell.text;
  }
  return text;
}

}  // namespace sadam::report
