// toml++, made safe for any bytes. Include this and never toml++ itself.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "train/recipe/fields.h"

namespace sadam::train {

/// What toml++ took for granted and was not so.
struct TomlAssertion : std::logic_error {
  using std::logic_error::logic_error;
};

constexpr void assert_toml(bool holds, const char* what) {
  if (!holds) throw TomlAssertion(what);
}

}  // namespace sadam::train

// Its parser asserts what malformed text can break ("[[[" does). In a debug build that would end the program,
// and in a release build it is a promise to the optimizer, so that anything may happen; here it is an
// exception in both.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) ::sadam::train::assert_toml(static_cast<bool>(expression), #expression)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace sadam::train {

/// Throws a UsageError that names `origin` and the line for what is not TOML.
///
/// The tables by which toml++ 3.3 tells white space from other characters outside ASCII have holes in them up
/// to U+FEFF, where it runs into undefined behaviour (an ü in a quoted name is enough). It is not shown any
/// of these: their bytes pass through it as characters that are beyond.
toml::table parse_toml(std::string_view text, std::string_view origin);

Value value_of(const toml::node& node);

/// What a text says about fields, in the order of the text. Throws a UsageError that names `origin` and the
/// line for what is not TOML.
std::vector<Entry> read_entries(std::string_view toml, std::string_view origin);

/// One value by itself, such as 8 or "text" or true; false if it is none.
bool read_value(std::string_view toml, Value& value);

}  // namespace sadam::train
