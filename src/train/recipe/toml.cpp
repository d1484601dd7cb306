#include "train/recipe/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::train {
namespace {

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// What comes after the equals sign begins as no value does, and so it was meant as text.
bool has_text_without_quotes(std::string_view line) {
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  auto value = line.substr(equals + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value = value.substr(0, value.find_first_of(" \t\r#"));
  for (const std::string_view word : {"", "true", "false", "inf", "nan"})
    if (value == word) return false;
  return std::string_view("0123456789+-\"'[{").find(value.front()) == std::string_view::npos;
}

// Names with dots nest as deep as they are long, and toml++ follows and frees them by recursion.
constexpr std::ptrdiff_t kMostDots = 5000;

// A byte that is not ASCII, on its way through toml++, is a character of plane 15: U+F0080 to U+F00FF.
constexpr std::string_view kHidden = "\xf3\xb0";

std::string hidden(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x80)
      result += letter;
    else
      ((result += kHidden) += static_cast<char>(byte < 0xc0 ? 0x82 : 0x83)) +=
          static_cast<char>(byte & 0xbfU);
  }
  return result;
}

std::string restored(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const bool is_hidden = text.size() >= 4 && text.starts_with(kHidden) && (text[2] & '\xfe') == '\x82';
    result += is_hidden ? static_cast<char>(text[3] | (text[2] & 1) << 6) : text[0];
    text.remove_prefix(is_hidden ? 4 : 1);
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto length = base::first_glyph(text).bytes;
    if (length == 1 && static_cast<unsigned char>(text[0]) >= 0x80) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Puts back, in what toml++ has read, the bytes that were hidden from it.
class Restorer {
 public:
  Restorer(std::string_view text, std::string_view origin)
      : text_(text), lines_(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1), origin_(origin) {}

  /// All texts and names in it.
  void restore(toml::node& node) const {
    if (auto* const text = node.as_string()) {
      text->get() = restored_text(text->get(), node);
    } else if (auto* const array = node.as_array()) {
      for (auto& each : *array) restore(each);
    } else if (auto* const table = node.as_table()) {
      std::vector<std::string> renamed;
      for (auto&& [key, each] : *table) {
        restore(each);
        if (restored_text(key.str(), each) != key.str()) renamed.emplace_back(key.str());
      }
      for (const auto& key : renamed) {
        const auto name = restored(key);
        auto& each = *table->get(key);
        if (const auto* const other = table->get(name))
          refuse(std::max(each.source().begin.line, other->source().begin.line),
                 fmt::format("{} stands there twice", base::in_quotes(name)));
        table->insert(name, std::move(each));
        table->erase(key);
      }
    }
  }

 private:
  [[noreturn]] void refuse(std::size_t line, std::string_view why) const {
    throw UsageError(fmt::format("{}:{}: this is not TOML: {}.", origin_, line, why));
  }

  std::string restored_text(std::string_view text, const toml::node& node) const {
    auto result = restored(text);
    if (is_utf8(result)) return result;
    std::size_t line = node.source().begin.line;  // of the byte, which may be one of those below
    while (line < lines_ && is_utf8(line_of(text_, line))) ++line;
    refuse(line, "it is not UTF-8");
  }

  std::string_view text_;
  std::size_t lines_;
  std::string_view origin_;
};

/// An escape that names a character which stands for a byte.
bool names_a_hidden_byte(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("\\U000", at)) != std::string_view::npos; ++at) {
    const auto digits = text.substr(at + 5, 5);
    if (digits.size() == 5 && (digits[0] == 'F' || digits[0] == 'f') && digits.substr(1, 2) == "00" &&
        std::string_view("89abcdefABCDEF").find(digits[3]) != std::string_view::npos)
      return true;
  }
  return false;
}

constexpr std::string_view kOnlyAscii = "outside quotes there are only letters, digits and signs of ASCII";

std::string description_of(const toml::parse_error& error) {
  auto text = restored(error.description());
  if (is_utf8(text)) return text;
  // It is about a single byte of a character.
  return text.find("escape") != std::string::npos ? "after a backslash comes the letter of an escape"
                                                  : std::string(kOnlyAscii);
}

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view origin) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (std::ranges::count(text, '.') > kMostDots)
    throw UsageError(fmt::format("{}: it has more than {} dots, which no recipe needs.", origin, kMostDots));
  if (names_a_hidden_byte(text))
    throw UsageError(fmt::format("{}: characters from U+F0080 to U+F00FF are not for escapes.", origin));
  try {
    auto table = toml::parse(hidden(text));
    Restorer(text, origin).restore(table);
    return table;
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    const auto why = description_of(error);
    const bool wants_quotes = why != kOnlyAscii && has_text_without_quotes(line_of(text, line));
    throw UsageError(fmt::format("{}:{}: this is not TOML: {}{}.", origin, line, why,
                                 wants_quotes ? "; text needs quotes" : ""));
  } catch (const TomlAssertion&) {
    throw UsageError(
        fmt::format("{}: this is not TOML: the name of a table or of a field is malformed.", origin));
  }
}

// ---- flattened --------------------------------------------------------------------------------------------

namespace {

OtherValue other(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return {std::string(kTableKind)};
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

}  // namespace

Value value_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  return other(node);
}

std::vector<Entry> read_entries(std::string_view toml, std::string_view origin) {
  const auto root = parse_toml(toml, origin);
  std::multimap<toml::source_index, Entry> found;  // by line: tables of toml++ are in alphabetical order
  const auto add = [&](std::string_view table, std::string_view key, const toml::node& node,
                       bool opens_table = false) {
    const auto line = node.source().begin.line;
    found.emplace(line, Entry{std::string(table), std::string(key), value_of(node),
                              fmt::format("{}:{}", origin, line), opens_table});
  };
  for (const auto& [name, node] : root) {
    const auto* const table = node.as_table();
    if (table == nullptr && !node.is_array_of_tables()) {
      add("", name.str(), node);
      continue;
    }
    add(name.str(), "", node, true);
    if (table == nullptr) continue;
    for (const auto& [key, value] : *table) add(name.str(), key.str(), value);
  }
  std::vector<Entry> entries;
  for (auto& [line, entry] : found) entries.push_back(std::move(entry));
  return entries;
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
