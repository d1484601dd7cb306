#include "train/recipe/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

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

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view origin) {
  try {
    return toml::parse(ascii_toml(text, origin));
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    throw UsageError(fmt::format("{}:{}: this is not TOML: {}{}.", origin, line, error.description(),
                                 has_text_without_quotes(line_of(text, line)) ? "; text needs quotes" : ""));
  } catch (const TomlAssertion&) {
    throw UsageError(
        fmt::format("{}: this is not TOML: the name of a table or of a field is malformed.", origin));
  }
}

// ---- ASCII ------------------------------------------------------------------------------------------------

namespace {

bool is_ascii(char letter) { return static_cast<unsigned char>(letter) < 0x80; }
bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return is_ascii(letter); });
}

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  ///< in bytes; 0 if the text does not begin with a character
};

/// The first character of some UTF-8, the shortest form of it only, and no halves of surrogate pairs.
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                                              : 4;
  if (length == 0 || length > text.size()) return {};
  if (length == 1) return {byte(0), 1};
  char32_t value = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool none = (value >= 0xd800 && value < 0xe000) || value > 0x10ffff || byte(0) > 0xf4;
  return too_long || none ? CodePoint{} : CodePoint{value, length};
}

/// Goes through a document once. Where it is no TOML it may be copied in the wrong way: then the parser
/// refuses it.
class AsciiCopy {
 public:
  AsciiCopy(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  std::string made() && {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '#') {
        copy_comment();
      } else if (letter == '"' || letter == '\'') {
        copy_string(letter);
      } else if (is_ascii(letter)) {
        result_ += letter;
        ++at_;
      } else {
        refuse("outside quotes there are only letters, digits and signs of ASCII");
      }
    }
    return std::move(result_);
  }

 private:
  void copy_comment() {
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_)
      result_ += is_ascii(text_[at_]) ? text_[at_] : '?';
  }

  void copy_string(char quote) {
    const std::string thrice(3, quote);
    const auto closing = text_.substr(at_).starts_with(thrice) ? thrice : std::string(1, quote);
    at_ += closing.size();
    const auto end = end_of_string(quote, closing);
    const auto content = text_.substr(at_, end - at_);
    // A string between single quotes has no escapes: one that needs them gets double quotes.
    const bool requoted = quote == '\'' && !is_ascii(content);
    const auto delimiter = requoted ? std::string(closing.size(), '"') : closing;
    result_ += delimiter;
    copy_content(end, quote == '"', requoted);
    if (at_ < text_.size() && text_.substr(at_).starts_with(closing)) {
      result_ += delimiter;
      at_ += closing.size();
    }
  }

  /// Where the closing quotes are, or the line or document ends without them.
  std::size_t end_of_string(char quote, std::string_view closing) const {
    const bool one_line = closing.size() == 1;
    for (auto i = at_; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (one_line && text_[i] == '\n') {
        return i;
      } else if (text_.substr(i).starts_with(closing)) {
        // Of up to five quotes in a row the last three close.
        for (int extra = 0; !one_line && extra < 2 && text_.substr(i + 1).starts_with(closing); ++extra) ++i;
        return i;
      }
    }
    return text_.size();
  }

  void copy_content(std::size_t end, bool has_escapes, bool requoted) {
    while (at_ < end) {
      const char letter = text_[at_];
      if (!is_ascii(letter)) {
        copy_escaped();
      } else if (letter == '\\' && has_escapes) {
        if (at_ + 1 < end && !is_ascii(text_[at_ + 1]))
          refuse("after a backslash comes the letter of an escape");
        result_ += text_.substr(at_, std::min<std::size_t>(2, end - at_));
        at_ += std::min<std::size_t>(2, end - at_);
      } else {
        if (requoted && (letter == '"' || letter == '\\')) result_ += '\\';
        result_ += letter;
        ++at_;
      }
    }
  }

  void copy_escaped() {
    const auto [value, length] = first_code_point(text_.substr(at_));
    if (length == 0) refuse("it is not UTF-8");
    result_ += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(value));
    at_ += length;
  }

  [[noreturn]] void refuse(std::string_view reason) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw UsageError(fmt::format("{}:{}: this is not TOML: {}.", origin_, line, reason));
  }

  std::string_view text_;
  std::string_view origin_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string ascii_toml(std::string_view text, std::string_view origin) {
  return is_ascii(text) ? std::string(text) : AsciiCopy(text, origin).made();
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

}  // namespace

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
