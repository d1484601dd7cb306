#include "reproduce/table_recipe.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/usage_error.h"
#include "reproduce/seeds.h"
#include "reproduce/toml_fields.h"

namespace sadam::reproduce {
namespace {

template <class Keyed>
std::vector<std::string> keys_in(const std::vector<Keyed>& items) {
  std::vector<std::string> keys;
  for (const auto& item : items) keys.push_back(item.key);
  return keys;
}

// A key names a folder: two of one name would share their runs, and one from outside would leave the root.
std::string key_in(TomlFields& fields, const std::vector<std::string>& taken) {
  auto key = fields.text("key");
  if (key.empty() || key.find('/') != std::string::npos || key.front() == '.')
    throw UsageError(fields.where("key") + ": the key '" + key +
                     "' cannot name a folder; it must not be empty, have a '/' or begin with '.'.");
  if (std::find(taken.begin(), taken.end(), key) != taken.end())
    throw UsageError(fields.where("key") + ": the key '" + key +
                     "' is there twice, and their runs would be the same; choose another.");
  return key;
}

// The runs of a row's controls lie in folders beside its own: ROW.matched, ROW.shuffled, adamw.cosine.
std::string row_key_in(TomlFields& fields, const std::vector<std::string>& taken) {
  auto key = key_in(fields, taken);
  if (key.find('.') != std::string::npos)
    throw UsageError(fields.where("key") + ": the key '" + key +
                     "' of a row has a '.', which is for the folders of controls (ROW.matched); write it "
                     "without.");
  return key;
}

std::vector<std::string> only_texts(const std::vector<Located>& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(item.text);
  return texts;
}

std::vector<Change> changes_in(TomlFields& fields) {
  std::vector<Change> changes;
  for (auto& item : fields.texts("set")) {
    if (sets_seed(item.text))
      throw UsageError(item.where + ": the seeds of a table are table.seeds; leave the seed out here.");
    changes.push_back({std::move(item.text), std::move(item.where)});
  }
  return changes;
}

std::vector<TableColumn> columns_in(TomlFields& fields) {
  std::vector<TableColumn> columns;
  for (auto& column : fields.tables("column")) {
    auto key = key_in(column, keys_in(columns));
    columns.push_back(
        {std::move(key), column.text("title"), changes_in(column), only_texts(column.texts("notes"))});
    column.done();
  }
  return columns;
}

std::vector<TableRow> rows_in(TomlFields& fields, const std::vector<std::string>& columns) {
  std::vector<TableRow> rows;
  for (auto& row : fields.tables("row")) {
    auto key = row_key_in(row, keys_in(rows));
    rows.push_back({std::move(key), row.text("title"), changes_in(row), row.flag("controls", true),
                    row.numbers("paper", columns, "column"),
                    row.numbers("paper_seconds", columns, "column")});
    row.done();
  }
  return rows;
}

std::vector<std::int64_t> table_seeds_in(TomlFields& fields) {
  auto seeds = fields.integers("seeds");
  check_seeds(seeds, fields.where("seeds"));
  return seeds;
}

TableRecipe::Quick quick_in(TomlFields& fields, const std::vector<std::string>& rows) {
  TableRecipe::Quick quick;
  quick.seeds = table_seeds_in(fields);
  quick.rows = fields.names("rows", rows, "row");
  quick.set = changes_in(fields);
  quick.columns = columns_in(fields);
  fields.done();
  return quick;
}

}  // namespace

bool TableRecipe::has_paper_numbers() const {
  return std::any_of(rows.begin(), rows.end(), [](const TableRow& row) { return !row.paper.empty(); });
}

TableRecipe read_table(std::string_view toml, std::string_view name, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  const auto* const node = root.get_as<toml::table>("table");
  if (node == nullptr && root.contains("figure"))
    throw UsageError(
        std::string(origin) +
        " lists figures, and only the built-in ones can be drawn: use 'sadam reproduce curves'.");
  if (node == nullptr)
    throw UsageError(std::string(origin) +
                     " has no [table]: it is a recipe of one run (sadam train), not of a table.");
  if (root.contains("seed"))
    throw UsageError(TomlFields(root, std::string(origin), "").where("seed") +
                     ": the seeds of a table are table.seeds; leave the seed out here.");
  TomlFields fields(*node, std::string(origin), "table");
  TableRecipe table;
  table.name = name;
  table.origin = origin;
  table.text = toml;
  table.title = fields.text("title");
  table.seeds = table_seeds_in(fields);
  table.notes = only_texts(fields.texts("notes"));
  table.columns = columns_in(fields);
  table.rows = rows_in(fields, keys_in(table.columns));
  table.baseline = fields.name("baseline", keys_in(table.rows), "row");
  for (auto& quick : fields.table("quick")) table.quick = quick_in(quick, keys_in(table.rows));
  fields.done();
  const auto refuse_empty = [&](bool empty, const char* key, const char* sentence) {
    if (empty) throw UsageError(fields.where(key) + ": the table has no " + sentence);
  };
  refuse_empty(table.seeds.empty(), "seeds",
               "seeds; add table.seeds with one or more, such as seeds = [1, 2].");
  refuse_empty(table.columns.empty(), "column", "column; add at least one as [[table.column]].");
  refuse_empty(table.rows.empty(), "row", "row; add at least one as [[table.row]].");
  return table;
}

std::vector<FigureRecipe> read_figures(std::string_view toml, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  TomlFields fields(root, std::string(origin), "");
  std::vector<FigureRecipe> figures;
  for (auto& figure : fields.tables("figure")) {
    figures.push_back({figure.text("key"), figure.text("title"), figure.text("table"),
                       only_texts(figure.texts("columns")), only_texts(figure.texts("rows")),
                       only_texts(figure.texts("measures"))});
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
