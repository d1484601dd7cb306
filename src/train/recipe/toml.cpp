#include "train/recipe/toml.h"

#include <fmt/format.h>

#include "base/usage_error.h"
#include "train/recipe/ascii_toml.h"

namespace sadam::train {

toml::table parse_toml(std::string_view text, std::string_view origin) {
  try {
    return toml::parse(ascii_toml(text, origin));
  } catch (const toml::parse_error& error) {
    throw UsageError(
        fmt::format("{}:{}: this is not TOML: {}.", origin, error.source().begin.line, error.description()));
  } catch (const TomlAssertion&) {
    throw UsageError(
        fmt::format("{}: this is not TOML: the name of a table or of a field is malformed.", origin));
  }
}

}  // namespace sadam::train
