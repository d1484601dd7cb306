// TOML, flattened: what a text says about fields, each with the place where it says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sadam::train {

/// A value that no field can have: an array, a date, a table within a table.
struct OtherValue {
  std::string kind;  ///< "an array"
};

using Value = std::variant<std::string, std::int64_t, double, bool, OtherValue>;

/// "the text 'eight'", "the integer 3", "an array".
std::string describe(const Value& value);

struct Entry {
  std::string table;  ///< "" outside all tables
  std::string key;
  Value value;
  std::string where;         ///< "table1.toml:12", for messages
  bool opens_table = false;  ///< it is about the table itself, and the value says what kind of thing that is
};

/// What an entry that opens a table holds, if it is one and no array of them.
inline constexpr std::string_view table_kind = "a table";

/// In the order of the text. Throws a UsageError that names `origin` and the line for what is not TOML.
std::vector<Entry> read_entries(std::string_view toml, std::string_view origin);

/// One value by itself, such as 8 or "text" or true; false if it is none.
bool read_value(std::string_view toml, Value& value);

}  // namespace sadam::train
