#include "train/recipe/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "base/usage_error.h"
#include "train/recipe/toml.h"

namespace sadam::train {
namespace {

OtherValue other(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return {std::string(table_kind)};
    case toml::node_type::array:
      return {node.is_array_of_tables() ? "an array of tables" : "an array"};
    case toml::node_type::date:
      return {"a date"};
    case toml::node_type::time:
      return {"a time"};
    default:
      return {"a date and time"};
  }
}

Value value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  return other(node);
}

/// Collects entries with their lines, since tables of toml++ are in alphabetical order.
class Flattener {
 public:
  explicit Flattener(std::string_view origin) : origin_(origin) {}

  void add(std::string_view table, std::string_view key, const toml::node& node, bool opens_table = false) {
    const auto line = node.source().begin.line;
    found_.emplace_back(line, Entry{std::string(table), std::string(key), value_of(node),
                                    fmt::format("{}:{}", origin_, line), opens_table});
  }

  std::vector<Entry> in_order() && {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Entry> entries;
    for (auto& [line, entry] : found_) entries.push_back(std::move(entry));
    return entries;
  }

 private:
  std::string_view origin_;
  std::vector<std::pair<toml::source_index, Entry>> found_;
};

struct DescribeValue {
  std::string operator()(const std::string& text) const { return "the text " + base::in_quotes(text); }
  std::string operator()(std::int64_t integer) const { return fmt::format("the integer {}", integer); }
  std::string operator()(double number) const { return fmt::format("the number {}", number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const OtherValue& value) const { return value.kind; }
};

}  // namespace

std::string describe(const Value& value) { return std::visit(DescribeValue{}, value); }

std::vector<Entry> read_entries(std::string_view toml, std::string_view origin) {
  const auto root = parse_toml(toml, origin);
  Flattener flat(origin);
  for (const auto& [name, node] : root) {
    const auto* const table = node.as_table();
    if (table == nullptr && !node.is_array_of_tables()) {
      flat.add("", name.str(), node);
      continue;
    }
    flat.add(name.str(), "", node, true);
    if (table == nullptr) continue;
    for (const auto& [key, value] : *table) flat.add(name.str(), key.str(), value);
  }
  return std::move(flat).in_order();
}

bool read_value(std::string_view toml, Value& value) {
  // A line feed would begin a second assignment.
  if (toml.find_first_of("\r\n") != std::string_view::npos) return false;
  try {
    const auto parsed = parse_toml(fmt::format("value = {}", toml), "");
    const auto* const node = parsed.get("value");
    if (node == nullptr) return false;
    value = value_of(*node);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace sadam::train
