#include "reproduce/toml_fields.h"

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "base/quote.h"
#include "base/usage_error.h"

namespace sadam::reproduce {

TomlFields::TomlFields(const toml::table& table, std::string origin, std::string name)
    : table_(table), origin_(std::move(origin)), name_(std::move(name)) {}

std::string TomlFields::text(std::string_view key) {
  const auto* const node = find(key);
  if (node == nullptr)
    throw UsageError(place(table_.source()) + ": " + name_ + " has no '" + std::string(key) + "'; add it.");
  return text_in(*node, key, "text in quotes");
}

bool TomlFields::flag(std::string_view key, bool otherwise) {
  const auto* const node = find(key);
  if (node == nullptr) return otherwise;
  if (!node->is_boolean()) wrong(*node, key, "true or false");
  return node->as_boolean()->get();
}

std::vector<std::int64_t> TomlFields::integers(std::string_view key) {
  std::vector<std::int64_t> result;
  const auto* const node = find(key);
  if (node == nullptr) return result;
  if (!node->is_array()) wrong(*node, key, "a list of integers");
  for (const auto& item : *node->as_array()) {
    if (!item.is_integer()) wrong(item, key, "a list of integers");
    result.push_back(item.as_integer()->get());
  }
  return result;
}

std::vector<Located> TomlFields::texts(std::string_view key) {
  std::vector<Located> result;
  const auto* const node = find(key);
  if (node == nullptr) return result;
  if (!node->is_array()) wrong(*node, key, "a list of texts in quotes");
  for (const auto& item : *node->as_array())
    result.push_back({text_in(item, key, "a list of texts in quotes"), place(item.source())});
  return result;
}

std::vector<TomlFields> TomlFields::tables(std::string_view key) {
  std::vector<TomlFields> result;
  const auto* const node = find(key);
  if (node == nullptr) return result;
  if (!node->is_array_of_tables()) {
    const auto name = full_name(key);
    throw UsageError(place(node->source()) + ": " + name + " must be a list of tables; write each as [[" +
                     name + "]].");
  }
  for (const auto& item : *node->as_array()) result.emplace_back(*item.as_table(), origin_, full_name(key));
  return result;
}

std::vector<TomlFields> TomlFields::table(std::string_view key) {
  const auto* const node = find(key);
  if (node == nullptr) return {};
  if (!node->is_table()) wrong(*node, key, "a table");
  return {TomlFields(*node->as_table(), origin_, full_name(key))};
}

std::string TomlFields::name(std::string_view key, const std::vector<std::string>& valid,
                             std::string_view kind) {
  const auto* const node = find(key);
  if (node == nullptr) return "";
  auto name = text_in(*node, key, "text in quotes");
  check_name(name, valid, kind, node->source(), key);
  return name;
}

std::vector<std::string> TomlFields::names(std::string_view key, const std::vector<std::string>& valid,
                                           std::string_view kind) {
  std::vector<std::string> result;
  const auto* const node = find(key);
  if (node == nullptr) return result;
  if (!node->is_array()) wrong(*node, key, "a list of texts in quotes");
  for (const auto& item : *node->as_array()) {
    result.push_back(text_in(item, key, "a list of texts in quotes"));
    check_name(result.back(), valid, kind, item.source(), key);
  }
  return result;
}

std::map<std::string, double> TomlFields::numbers(std::string_view key, const std::vector<std::string>& valid,
                                                  std::string_view kind) {
  std::map<std::string, double> result;
  const auto* const node = find(key);
  if (node == nullptr) return result;
  if (!node->is_table()) wrong(*node, key, "a table of numbers");
  for (const auto& [name, item] : *node->as_table()) {
    if (!item.is_number()) wrong(item, key, "a table of numbers");
    const std::string text(name.str());
    check_name(text, valid, kind, item.source(), key);
    result[text] = item.value<double>().value();
  }
  return result;
}

std::string TomlFields::where(std::string_view key) const {
  const auto* const node = table_.get(key);
  return place(node == nullptr ? table_.source() : node->source());
}

void TomlFields::done() const {
  for (const auto& [name, item] : table_) {
    const std::string key(name.str());
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    throw UsageError(place(item.source()) + ": " + (name_.empty() ? "the file" : name_) + " has no field " +
                     base::in_quotes(key) + base::suggestion(key, asked_));
  }
}

const toml::node* TomlFields::find(std::string_view key) {
  asked_.emplace_back(key);
  return table_.get(key);
}

std::string TomlFields::full_name(std::string_view key) const {
  return (name_.empty() ? "" : name_ + ".") + std::string(key);
}

// A table that only its parts open, as [table] by [[table.row]], has no line.
std::string TomlFields::place(const toml::source_region& region) const {
  return region.begin.line == 0 ? origin_ : origin_ + ":" + std::to_string(region.begin.line);
}

void TomlFields::wrong(const toml::node& node, std::string_view key, const char* kind) const {
  throw UsageError(place(node.source()) + ": " + full_name(key) + " must be " + kind + ".");
}

std::string TomlFields::text_in(const toml::node& node, std::string_view key, const char* kind) const {
  if (!node.is_string()) wrong(node, key, kind);
  return node.as_string()->get();
}

void TomlFields::check_name(const std::string& name, const std::vector<std::string>& valid,
                            std::string_view kind, const toml::source_region& region,
                            std::string_view key) const {
  if (std::find(valid.begin(), valid.end(), name) != valid.end()) return;
  throw UsageError(place(region) + ": " + full_name(key) + " names " + base::in_quotes(name) +
                   ", and there is no such " + std::string(kind) + base::suggestion(name, valid));
}

}  // namespace sadam::reproduce
