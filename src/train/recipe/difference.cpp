#include "train/recipe/difference.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "train/recipe/field_table.h"

namespace sadam::train {
namespace {

bool may_change(const std::string& field) {
  constexpr std::array<std::string_view, 3> fields = {"title", "data.root", "train.checkpoint_every"};
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace

std::vector<Difference> differences(const Recipe& first, const Recipe& second) {
  auto a = first;  // the table hands out places to write to
  auto b = second;
  std::vector<Difference> found;
  for (const auto& row : field_table()) {
    const auto name = row.name();
    auto in_a = to_toml(row.slot(a));
    auto in_b = to_toml(row.slot(b));
    if (in_a != in_b && !may_change(name)) found.push_back({name, std::move(in_a), std::move(in_b)});
  }
  return found;
}

}  // namespace sadam::train
