#include "report/recipe_values.h"

#include <variant>

#include <fmt/format.h>

#include "nn/model.h"
#include "train/recipe/source.h"

namespace sadam::report {
namespace {

Cell cell_of(std::string text) { return text; }
Cell cell_of(std::int64_t number) { return Cell::count(number); }
Cell cell_of(double number) { return {number, fmt::format("{}", number)}; }
Cell cell_of(bool truth) { return {truth, truth ? "true" : "false"}; }

}  // namespace

Cell recipe_value(const train::FieldRow& field, train::Recipe recipe) {
  if (!field.applies_to(recipe)) return {};
  return std::visit([](const auto* value) { return cell_of(*value); }, field.slot(recipe));
}

std::vector<RecipeValue> recipe_values(const train::Recipe& recipe) {
  std::vector<RecipeValue> values;
  for (const auto& field : train::field_table())
    values.push_back({field.name(), recipe_value(field, recipe)});
  return values;
}

std::string short_model(const train::Recipe& recipe) {
  auto text = recipe.model.name;
  if (recipe.model.name == name_of(nn::Model::qatnet)) text += fmt::format(" {}-bit", recipe.model.bits);
  return text;
}

std::string short_optimizer(const train::Recipe& recipe) {
  const auto& optimizer = recipe.optimizer;
  auto text = optimizer.name;
  if (train::optimizer_of(recipe) == train::OptimizerKind::sadam) {
    text += fmt::format(" k={}", optimizer.probes);
    if (optimizer.preset != "default") text += ' ' + optimizer.preset;
  }
  const auto control = train::control_of(recipe);
  if (control != train::Control::none) text += ' ' + recipe.control.kind;
  if (control == train::Control::constant) text += fmt::format(" {}", recipe.control.brake);
  if (recipe.schedule.name != "constant") text += ' ' + recipe.schedule.name;

  auto plain = recipe;
  plain.optimizer = train::plain_optimizer(optimizer);
  plain.optimizer.probes = optimizer.probes;
  const auto before = recipe_values(plain);
  const auto now = recipe_values(recipe);
  constexpr std::string_view kSection = "optimizer.";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i].name.starts_with(kSection) && now[i].cell.value != before[i].cell.value)
      text += fmt::format(" {}={}", now[i].name.substr(kSection.size()), now[i].cell.text);
  }
  return text;
}

}  // namespace sadam::report
