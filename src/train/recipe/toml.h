// toml++, made safe for any bytes. Include this and never toml++ itself.
#pragma once

#include <stdexcept>
#include <string_view>

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
toml::table parse_toml(std::string_view text, std::string_view origin);

}  // namespace sadam::train
