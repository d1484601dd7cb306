#include "train/recipe/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/usage_error.h"
#include "train/recipe/ascii_toml.h"

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

}  // namespace sadam::train
