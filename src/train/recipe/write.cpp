#include <fmt/format.h>

#include "train/recipe/field_table.h"
#include "train/recipe/source.h"

namespace sadam::train {
namespace {

struct SlotType {
  std::string operator()(const std::string* /*unused*/) const { return "text"; }
  std::string operator()(const std::int64_t* /*unused*/) const { return "integer"; }
  std::string operator()(const double* /*unused*/) const { return "number"; }
  std::string operator()(const bool* /*unused*/) const { return "true or false"; }
};

std::vector<Field> make_recipe_fields() {
  Recipe defaults;
  std::vector<Field> fields;
  for (const auto& row : field_table()) {
    const auto slot = row.slot(defaults);
    const bool says_more =
        !std::holds_alternative<AnyText>(row.allowed) && !std::holds_alternative<YesOrNo>(row.allowed);
    const auto allowed = says_more ? fmt::format(" ({})", describe(row.allowed)) : "";
    fields.push_back({row.name(), std::visit(SlotType{}, slot), to_toml(slot),
                      fmt::format("{}{}.", row.meaning, allowed)});
  }
  return fields;
}

}  // namespace

std::string to_toml(const Recipe& recipe) {
  auto copy = recipe;  // the table hands out places to write to
  std::string text;
  std::string_view table;
  for (const auto& row : field_table()) {
    if (row.table != table) {
      table = row.table;
      text += fmt::format("\n[{}]\n", table);
    }
    text += fmt::format("{} = {}\n", row.key, to_toml(row.slot(copy)));
  }
  return text;
}

const std::vector<Field>& recipe_fields() {
  static const auto fields = make_recipe_fields();
  return fields;
}

}  // namespace sadam::train
