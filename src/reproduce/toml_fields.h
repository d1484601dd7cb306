// TOML tables whose fields are taken out by name, with errors that give file and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "train/recipe/toml.h"

namespace sadam::reproduce {

/// A text, and where it stands.
struct Located {
  std::string text;
  std::string where;  ///< "mine.toml:12"
};

/// A table whose fields are taken out by name; what is left over in the end was misspelt. Everything throws
/// a UsageError that names file, line and field.
class TomlFields {
 public:
  /// `origin` names the file, `name` the table ("table.row"; "" for all of the file).
  TomlFields(const toml::table& table, std::string origin, std::string name);

  /// Takes a field that must be there.
  std::string text(std::string_view key);
  bool flag(std::string_view key, bool otherwise);
  std::vector<std::int64_t> integers(std::string_view key);
  std::vector<Located> texts(std::string_view key);
  std::vector<TomlFields> tables(std::string_view key);
  /// A table within this one: one, or none.
  std::vector<TomlFields> table(std::string_view key);

  /// What must be one of `valid`, the keys of a `kind` ("row"); "" if there is no such field.
  std::string name(std::string_view key, const std::vector<std::string>& valid, std::string_view kind);
  std::vector<std::string> names(std::string_view key, const std::vector<std::string>& valid,
                                 std::string_view kind);
  std::map<std::string, double> numbers(std::string_view key, const std::vector<std::string>& valid,
                                        std::string_view kind);

  /// "mine.toml:12": where a field stands, or the table if there is none.
  std::string where(std::string_view key) const;

  /// Throws if the table has a field that nobody asked for.
  void done() const;

 private:
  const toml::node* find(std::string_view key);
  std::string full_name(std::string_view key) const;
  std::string place(const toml::source_region& region) const;
  [[noreturn]] void wrong(const toml::node& node, std::string_view key, const char* kind) const;
  std::string text_in(const toml::node& node, std::string_view key, const char* kind) const;
  void check_name(const std::string& name, const std::vector<std::string>& valid, std::string_view kind,
                  const toml::source_region& region, std::string_view key) const;

  const toml::table& table_;
  std::string origin_;
  std::string name_;
  std::vector<std::string> asked_;
};

}  // namespace sadam::reproduce
