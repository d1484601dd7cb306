#include "reproduce/table_recipe.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/usage_error.h"
#include "train/recipe/toml.h"

namespace sadam::reproduce {
namespace {

// A TOML table whose fields are taken out by name; what is left over in the end was misspelt.
class Fields {
 public:
  Fields(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  std::string text(std::string_view key, bool required = true) {
    const auto* const node = find(key, required);
    if (node == nullptr) return "";
    return value<std::string>(*node, key, "text");
  }
  bool flag(std::string_view key, bool otherwise) {
    const auto* const node = find(key, false);
    return node == nullptr ? otherwise : value<bool>(*node, key, "true or false");
  }
  template <class T>
  std::vector<T> list(std::string_view key, const char* kind) {
    std::vector<T> result;
    const auto* const node = find(key, false);
    if (node == nullptr) return result;
    if (!node->is_array()) wrong(key, "a list");
    for (const auto& item : *node->as_array()) result.push_back(value<T>(item, key, kind));
    return result;
  }
  std::map<std::string, double> numbers(std::string_view key) {
    std::map<std::string, double> result;
    const auto* const node = find(key, false);
    if (node == nullptr) return result;
    if (!node->is_table()) wrong(key, "a table of numbers");
    for (const auto& [name, item] : *node->as_table())
      result[std::string(name.str())] = value<double>(item, key, "numbers");
    return result;
  }
  std::vector<Fields> tables(std::string_view key) {
    std::vector<Fields> result;
    const auto* const node = find(key, false);
    if (node == nullptr) return result;
    if (!node->is_array_of_tables()) wrong(key, "a list of tables");
    for (const auto& item : *node->as_array())
      result.emplace_back(*item.as_table(), where_ + "." + std::string(key));
    return result;
  }
  const toml::table* table(std::string_view key) {
    const auto* const node = find(key, false);
    if (node != nullptr && !node->is_table()) wrong(key, "a table");
    return node == nullptr ? nullptr : node->as_table();
  }

  /// Throws if the text has a field that nobody asked for.
  void done() const {
    for (const auto& [name, item] : table_) {
      const std::string key(name.str());
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end())
        throw UsageError(where_ + " has no field '" + key + "'" + base::suggestion(key, asked_));
    }
  }

 private:
  const toml::node* find(std::string_view key, bool required) {
    asked_.emplace_back(key);
    const auto* const node = table_.get(key);
    if (node == nullptr && required) throw UsageError(where_ + " has no '" + std::string(key) + "': add it.");
    return node;
  }
  template <class T>
  T value(const toml::node& node, std::string_view key, const char* kind) const {
    const auto found = node.value<T>();
    if (!found) wrong(key, kind);
    return *found;
  }
  [[noreturn]] void wrong(std::string_view key, const char* kind) const {
    throw UsageError(where_ + "." + std::string(key) + " must be " + kind + ".");
  }

  const toml::table& table_;
  std::string where_;
  std::vector<std::string> asked_;
};

std::vector<TableColumn> columns_in(Fields& fields) {
  std::vector<TableColumn> columns;
  for (auto& column : fields.tables("column")) {
    columns.push_back({column.text("key"), column.text("title"), column.list<std::string>("set", "text")});
    column.done();
  }
  return columns;
}

std::vector<TableRow> rows_in(Fields& fields) {
  std::vector<TableRow> rows;
  for (auto& row : fields.tables("row")) {
    rows.push_back({row.text("key"), row.text("title"), row.list<std::string>("set", "text"),
                    row.flag("controls", true), row.numbers("paper"), row.numbers("paper_seconds")});
    row.done();
  }
  return rows;
}

// A key names a folder: two of one name would share their runs, and one from outside would leave the root.
template <class Keyed>
void check_keys(const std::vector<Keyed>& items, const std::string& where) {
  std::vector<std::string> seen;
  for (const auto& item : items) {
    if (item.key.empty() || item.key.find('/') != std::string::npos || item.key.front() == '.')
      throw UsageError(
          where + " has the key '" + item.key +
          "': a key names a folder, so it is not empty, has no '/' and does not begin with '.'.");
    if (std::find(seen.begin(), seen.end(), item.key) != seen.end())
      throw UsageError(where + " has the key '" + item.key + "' twice: their runs would be the same.");
    seen.push_back(item.key);
  }
}

}  // namespace

TableRecipe read_table(std::string_view toml, std::string_view name, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  const auto* const node = root.get_as<toml::table>("table");
  if (node == nullptr)
    throw UsageError(std::string(origin) +
                     " has no [table]: it is a recipe of one run (sadam train), not of a table.");
  Fields fields(*node, std::string(origin) + ": table");
  TableRecipe table;
  table.name = name;
  table.text = toml;
  table.title = fields.text("title");
  table.baseline = fields.text("baseline", false);
  table.seeds = fields.list<std::int64_t>("seeds", "integers");
  table.notes = fields.list<std::string>("notes", "text");
  table.columns = columns_in(fields);
  table.rows = rows_in(fields);
  if (const auto* const quick = fields.table("quick")) {
    Fields quick_fields(*quick, std::string(origin) + ": table.quick");
    table.quick.seeds = quick_fields.list<std::int64_t>("seeds", "integers");
    table.quick.rows = quick_fields.list<std::string>("rows", "text");
    table.quick.set = quick_fields.list<std::string>("set", "text");
    table.quick.columns = columns_in(quick_fields);
    quick_fields.done();
  }
  fields.done();
  if (table.columns.empty() || table.rows.empty() || table.seeds.empty())
    throw UsageError(std::string(origin) + ": a table needs at least one column, one row and one seed.");
  check_keys(table.columns, std::string(origin) + ": table.column");
  check_keys(table.quick.columns, std::string(origin) + ": table.quick.column");
  check_keys(table.rows, std::string(origin) + ": table.row");
  return table;
}

std::vector<FigureRecipe> read_figures(std::string_view toml, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  Fields fields(root, std::string(origin));
  std::vector<FigureRecipe> figures;
  for (auto& figure : fields.tables("figure")) {
    figures.push_back({figure.text("key"), figure.text("title"), figure.text("table"),
                       figure.list<std::string>("columns", "text"), figure.list<std::string>("rows", "text"),
                       figure.list<std::string>("measures", "text")});
    figure.done();
  }
  fields.done();
  return figures;
}

TableRecipe find_table(const std::string& name_or_path) {
  std::vector<std::string> names;
  for (const auto& built_in : built_in_recipes()) {
    if (built_in.name == name_or_path) return read_table(built_in.text, name_or_path, name_or_path + ".toml");
    names.emplace_back(built_in.name);
  }
  const std::filesystem::path path(name_or_path);
  if (path.extension() != ".toml")
    throw UsageError("there is no table '" + name_or_path + "'" + base::suggestion(name_or_path, names));
  const auto bytes = base::read_file(path);
  return read_table({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.stem().string(),
                    name_or_path);
}

}  // namespace sadam::reproduce
