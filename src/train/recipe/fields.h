// Every field of a recipe, described once: reading, checking, writing and the documentation go by this table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/recipe/recipe.h"

namespace sadam::train {

/// Where a field lives in a recipe. Its type is what may be written there.
using Slot = std::variant<std::string*, std::int64_t*, double*, bool*>;

struct AnyText {
  bool may_be_empty = true;
  bool commas_separate = false;  ///< several values in a grid; in other text a comma is a comma
};
struct OneOf {
  std::vector<std::string> names;
};
struct Integers {
  std::int64_t least;
  std::int64_t most;
};
struct YesOrNo {};
/// In a range there are finite numbers only.
using Allowed = std::variant<AnyText, OneOf, Integers, OptionRange, YesOrNo>;

struct FieldRow {
  std::string_view table;  ///< "optimizer"; "" for fields outside all tables
  std::string_view key;    ///< "probes"
  Slot (*slot)(Recipe&);
  Allowed allowed;
  std::string_view meaning;  ///< one sentence without its full stop and without what is allowed
  /// The networks, optimizers, … of its table that look at it ("sadam", "adamw"); empty: all.
  std::vector<std::string_view> only_for = {};

  std::string name() const;  ///< "optimizer.probes"
  /// Whether it decides anything for this recipe, as `optimizer.probes` does not for AdamW.
  bool applies_to(const Recipe& recipe) const;
};

/// In the order in which they are written; the rows of a table are together, and those outside tables come
/// first.
const std::vector<FieldRow>& field_table();

/// "" is not among them.
const std::vector<std::string>& table_names();

/// The row, also by a name that the field had once; or null.
const FieldRow* find_row(std::string_view table, std::string_view key);
/// The same for a full name: "optimizer.probes", "seed".
const FieldRow* find_row(std::string_view name);

/// The full names of the fields that have this key in whatever table: "optimizer.brake", "control.brake".
std::vector<std::string> fields_with_key(std::string_view key);

/// "2 to 8", "above 0", "a, b or c", "any text", "true or false".
std::string describe(const Allowed& allowed);

// ---- what a text says about fields, each with the place where it says so; check.cpp -----------------------

/// A value that no field can have: an array, a date, a table within a table.
struct OtherValue {
  std::string kind;  ///< "an array"
};

using Value = std::variant<std::string, std::int64_t, double, bool, OtherValue>;

struct Entry {
  std::string table;  ///< "" outside all tables
  std::string key;
  Value value;
  std::string where;         ///< "table1.toml:12", for messages
  bool opens_table = false;  ///< it is about the table itself, and the value says what kind of thing that is
};

/// What an entry that opens a table holds, if it is one and no array of them.
inline constexpr std::string_view kTableKind = "a table";

/// Without its value yet: about "optimizer.probes", "seed".
Entry entry_about(std::string_view field, std::string where);

/// The row that an entry is about; null if it opens a table. Throws a UsageError for what is no field and no
/// table.
const FieldRow* checked_row(const Entry& entry);

/// Puts the entry's value where the row says. Throws a UsageError for a wrong type and a value out of range.
void assign(const FieldRow& row, const Entry& entry, Recipe& recipe);

/// Throws a UsageError for fields that contradict each other, and for a control that would change nothing.
/// `brake_given`: whether control.brake is what somebody wrote, and not its default.
void check_together(const Recipe& recipe, bool brake_given);

// ---- recipes as text --------------------------------------------------------------------------------------

/// As TOML; numbers so that they read back to the same value.
std::string to_toml(const Slot& slot);

/// Every field, with the values the run will have. RecipeSource reads it back to an equal recipe.
std::string to_toml(const Recipe& recipe);

/// What a person can write in a recipe.
struct Field {
  std::string name;      ///< "optimizer.probes"
  std::string type;      ///< "integer", "number", "text", "true or false"
  std::string standard;  ///< the default, as TOML
  std::string meaning;   ///< one sentence
};
const std::vector<Field>& recipe_fields();

struct Difference {
  std::string field;   ///< "optimizer.probes"
  std::string first;   ///< its value in the first recipe, as TOML
  std::string second;  ///< and in the second
};

/// Whether a field may change while a run is under way: its title, where its data are, when it is saved, and
/// which processes share its work.
bool may_change(std::string_view field);

/// In the order of the recipe's fields. Left out are those that may change; and train.threads, if
/// train.processes does.
std::vector<Difference> differences(const Recipe& first, const Recipe& second);

}  // namespace sadam::train
