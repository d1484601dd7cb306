#include "train/recipe/short_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/file.h"
#include "base/usage_error.h"
#include "train/recipe/source.h"

namespace sadam::train {
namespace {

// Of a name the value says enough.
bool is_a_name(const FieldRow& row) {
  return row.key == "name" || row.key == "preset" || row.key == "kind" || row.key == "device";
}

bool is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '.' || letter == '+' || letter == '-' || letter == '_';
}

std::string safe(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  std::string result(text.substr(text.rfind('/') + 1));
  for (auto& letter : result)
    if (!is_plain(letter)) letter = '_';
  // A name may not be taken for an option or be hidden.
  if (result.empty() || result.front() == '.' || result.front() == '-') result.insert(0, "_");
  return result;
}

// The shorter of 0.0003 and 3e-4.
std::string short_number(double value) {
  const auto written = [value](std::chars_format format) {
    std::array<char, 400> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
    return std::string(buffer.data(), end);
  };
  auto power = written(std::chars_format::scientific);  // 3e-04
  const auto sign = power.find('e') + 1;
  if (sign < power.size() && power[sign] == '+') power.erase(sign, 1);
  const auto digits = sign + (power[sign] == '-' ? 1 : 0);
  while (digits + 1 < power.size() && power[digits] == '0') power.erase(digits, 1);
  auto fixed = written(std::chars_format::fixed);
  return fixed.size() <= power.size() ? fixed : power;
}

struct ShortValue {
  std::string operator()(const std::string* text) const { return text->empty() ? "none" : safe(*text); }
  std::string operator()(const std::int64_t* number) const { return fmt::format("{}", *number); }
  std::string operator()(const double* number) const { return short_number(*number); }
  std::string operator()(const bool* truth) const { return *truth ? "true" : "false"; }
};

// What the name of a recipe need not say: the defaults, or the file.
Recipe unsaid(const Recipe& recipe, const NamedRecipe* base) {
  auto result = base != nullptr ? base->recipe : Recipe();
  if (base == nullptr) {
    result.data.name = recipe.data.name;
    result.model.name = recipe.model.name;
    result.optimizer.name = recipe.optimizer.name;
  }
  const auto before = result.optimizer;
  if (base != nullptr && before.name == recipe.optimizer.name && before.preset == recipe.optimizer.preset)
    return result;
  result.optimizer = plain_optimizer(recipe.optimizer);
  result.optimizer.name = before.name;
  result.optimizer.preset = before.preset;
  return result;
}

}  // namespace

std::string short_key(const FieldRow& row) {
  if (row.key == "name") return std::string(row.table);
  return fields_with_key(row.key).size() > 1 ? row.name() : std::string(row.key);
}

std::string short_text(const FieldRow& row, Recipe recipe, Join join) {
  const auto slot = row.slot(recipe);
  auto value = std::visit(ShortValue{}, slot);
  if (is_a_name(row)) return value;
  const bool is_word = std::holds_alternative<std::string*>(slot) || std::holds_alternative<bool*>(slot);
  return fmt::format("{}{}{}", short_key(row), join == Join::label ? "=" : is_word ? "-" : "", value);
}

bool describes_experiment(const FieldRow& row) {
  constexpr std::array<std::string_view, 8> kOthers = {
      "title",         "data.root",    "train.processes",        "train.split",
      "train.threads", "train.device", "train.checkpoint_every", "train.evaluate_batch"};
  return std::ranges::find(kOthers, row.name()) == kOthers.end();
}

std::optional<NamedRecipe> named_recipe(const std::filesystem::path& file, std::string_view text) {
  if (file.empty()) return std::nullopt;
  NamedRecipe named{stem_of(file), {}};
  RecipeSource source;
  source.ignore("sweep");
  source.add_text(text, file.string());
  try {
    named.recipe = source.resolve();
  } catch (const UsageError&) {
    // It lacks what the command line gives.
  }
  return named;
}

std::string stem_of(const std::filesystem::path& recipe_file) {
  const auto folder = recipe_file.parent_path().filename();
  return safe(recipe_file.filename() == "run.toml" && !folder.empty() ? folder.string()
                                                                      : recipe_file.stem().string());
}

std::string short_name(const Recipe& recipe, const NamedRecipe* base,
                       const std::vector<std::string>& without) {
  const auto is_wanted = [&](const std::string& field) {
    return std::ranges::find(without, field) == without.end();
  };
  auto before = unsaid(recipe, base);
  auto now = recipe;
  std::vector<std::string> parts;
  if (base != nullptr) parts.push_back(base->stem);
  for (const char* field : {"data.name", "model.name", "optimizer.name"})
    if (base == nullptr && is_wanted(field)) parts.push_back(short_text(*find_row(field), recipe));
  for (const auto& row : field_table()) {
    const auto name = row.name();
    if (name == "seed" || !describes_experiment(row) || !row.applies_to(recipe) || !is_wanted(name)) continue;
    if (to_toml(row.slot(before)) != to_toml(row.slot(now))) parts.push_back(short_text(row, recipe));
  }
  if (is_wanted("seed")) parts.push_back(fmt::format("{}", recipe.seed));
  return bounded_name(fmt::format("{}", fmt::join(parts, "-")));
}

std::string bounded_name(std::string name) {
  constexpr std::size_t kLongest = 100;
  if (name.size() <= kLongest) return name;
  const auto checksum = fmt::format("-{:08x}", base::crc32(std::as_bytes(std::span(name))));
  name.resize(kLongest - checksum.size());
  return name + checksum;
}

}  // namespace sadam::train
