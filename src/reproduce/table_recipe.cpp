#include "reproduce/table_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "train/recipe/toml.h"

namespace sadam::reproduce {
namespace {

constexpr const char* kText = "text in quotes";
constexpr const char* kTexts = "a list of texts in quotes";
constexpr const char* kIntegers = "a list of integers";
constexpr const char* kNumbers = "a table of numbers";

// A TOML table whose fields are taken out by name; what is left over in the end was misspelt. Everything
// throws a UsageError that names file, line and field.
class TomlFields {
 public:
  // `origin` names the file, `name` the table ("table.row"; "" for all of the file).
  TomlFields(const toml::table& table, std::string_view origin, std::string name)
      : table_(table), origin_(origin), name_(std::move(name)) {}

  // Takes a field that must be there.
  std::string text(std::string_view key) {
    const auto* const node = find(key);
    if (node == nullptr)
      throw UsageError(fmt::format("{}: {} has no '{}'; add it.", place(table_.source()), name_, key));
    return text_in(*node, key, kText);
  }

  bool flag(std::string_view key, bool otherwise) {
    const auto* const node = find(key);
    if (node == nullptr) return otherwise;
    if (!node->is_boolean()) wrong(*node, key, "true or false");
    return node->as_boolean()->get();
  }

  std::vector<std::int64_t> integers(std::string_view key) {
    std::vector<std::int64_t> result;
    for_each_in_list(key, kIntegers, [&](const toml::node& item) {
      if (!item.is_integer()) wrong(item, key, kIntegers);
      result.push_back(item.as_integer()->get());
    });
    return result;
  }

  // Each with where it stands.
  std::vector<Change> texts(std::string_view key) {
    std::vector<Change> result;
    for_each_in_list(key, kTexts, [&](const toml::node& item) {
      result.push_back({text_in(item, key, kTexts), place(item.source())});
    });
    return result;
  }

  std::vector<TomlFields> tables(std::string_view key) {
    std::vector<TomlFields> result;
    const auto* const node = find(key);
    if (node == nullptr) return result;
    if (!node->is_array_of_tables())
      throw UsageError(fmt::format("{}: {} must be a list of tables; write each as [[{}]].",
                                   place(node->source()), full_name(key), full_name(key)));
    for (const auto& item : *node->as_array()) result.emplace_back(*item.as_table(), origin_, full_name(key));
    return result;
  }

  // A table within this one: one, or none.
  std::vector<TomlFields> table(std::string_view key) {
    const auto* const node = find(key);
    if (node == nullptr) return {};
    if (!node->is_table()) wrong(*node, key, "a table");
    return {TomlFields(*node->as_table(), origin_, full_name(key))};
  }

  // What must be one of `valid`, the keys of a `kind` ("row"); "" if there is no such field.
  std::string name(std::string_view key, const std::vector<std::string>& valid, std::string_view kind) {
    const auto* const node = find(key);
    if (node == nullptr) return "";
    auto name = text_in(*node, key, kText);
    check_name(name, valid, kind, *node, key);
    return name;
  }

  std::vector<std::string> names(std::string_view key, const std::vector<std::string>& valid,
                                 std::string_view kind) {
    std::vector<std::string> result;
    for_each_in_list(key, kTexts, [&](const toml::node& item) {
      result.push_back(text_in(item, key, kTexts));
      check_name(result.back(), valid, kind, item, key);
    });
    return result;
  }

  std::map<std::string, double> numbers(std::string_view key, const std::vector<std::string>& valid,
                                        std::string_view kind) {
    std::map<std::string, double> result;
    const auto* const node = find(key);
    if (node == nullptr) return result;
    if (!node->is_table()) wrong(*node, key, kNumbers);
    for (const auto& [name, item] : *node->as_table()) {
      if (!item.is_number()) wrong(item, key, kNumbers);
      const std::string text(name.str());
      check_name(text, valid, kind, item, key);
      result[text] = item.value<double>().value();
    }
    return result;
  }

  // "mine.toml:12": where a field stands, or the table if there is none.
  std::string where(std::string_view key) const {
    const auto* const node = table_.get(key);
    return place(node == nullptr ? table_.source() : node->source());
  }

  // Throws if the table has a field that nobody asked for.
  void done() const {
    for (const auto& [name, item] : table_) {
      const std::string key(name.str());
      if (!contains(asked_, key))
        throw UsageError(fmt::format("{}: {} has no field {}{}", place(item.source()),
                                     name_.empty() ? "the file" : name_, base::in_quotes(key),
                                     base::suggestion(key, asked_)));
    }
  }

 private:
  const toml::node* find(std::string_view key) {
    asked_.emplace_back(key);
    return table_.get(key);
  }

  template <class Take>
  void for_each_in_list(std::string_view key, const char* kind, const Take& take) {
    const auto* const node = find(key);
    if (node == nullptr) return;
    if (!node->is_array()) wrong(*node, key, kind);
    for (const auto& item : *node->as_array()) take(item);
  }

  std::string full_name(std::string_view key) const {
    return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
  }

  // A table that only its parts open, as [table] by [[table.row]], has no line.
  std::string place(const toml::source_region& region) const {
    return region.begin.line == 0 ? origin_ : fmt::format("{}:{}", origin_, region.begin.line);
  }

  [[noreturn]] void wrong(const toml::node& node, std::string_view key, const char* kind) const {
    throw UsageError(fmt::format("{}: {} must be {}.", place(node.source()), full_name(key), kind));
  }

  std::string text_in(const toml::node& node, std::string_view key, const char* kind) const {
    if (!node.is_string()) wrong(node, key, kind);
    return node.as_string()->get();
  }

  void check_name(const std::string& name, const std::vector<std::string>& valid, std::string_view kind,
                  const toml::node& node, std::string_view key) const {
    if (contains(valid, name)) return;
    throw UsageError(fmt::format("{}: {} names {}, and there is no such {}{}", place(node.source()),
                                 full_name(key), base::in_quotes(name), kind, base::suggestion(name, valid)));
  }

  const toml::table& table_;
  std::string origin_;
  std::string name_;
  std::vector<std::string> asked_;
};

// A key names a folder: two of one name would share their runs, and one from outside would leave the root.
std::string key_in(TomlFields& fields, const std::vector<std::string>& taken) {
  auto key = fields.text("key");
  if (key.empty() || key.find('/') != std::string::npos || key.front() == '.')
    throw UsageError(fmt::format(
        "{}: the key '{}' cannot name a folder; it must not be empty, have a '/' or begin with '.'.",
        fields.where("key"), key));
  if (contains(taken, key))
    throw UsageError(
        fmt::format("{}: the key '{}' is there twice, and their runs would be the same; choose another.",
                    fields.where("key"), key));
  return key;
}

// The runs of a row's controls lie in folders beside its own: ROW.matched, ROW.shuffled, adamw.cosine.
std::string row_key_in(TomlFields& fields, const std::vector<std::string>& taken) {
  auto key = key_in(fields, taken);
  if (key.find('.') != std::string::npos)
    throw UsageError(fmt::format(
        "{}: the key '{}' of a row has a '.', which is for the folders of controls (ROW.matched); write it "
        "without.",
        fields.where("key"), key));
  return key;
}

std::vector<std::string> only_texts(const std::vector<Change>& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(item.text);
  return texts;
}

[[noreturn]] void refuse_seed(const std::string& where) {
  throw UsageError(fmt::format("{}: the seeds of a table are table.seeds; leave the seed out here.", where));
}

std::vector<Change> changes_in(TomlFields& fields) {
  auto changes = fields.texts("set");
  for (const auto& change : changes)
    if (sets_seed(change.text)) refuse_seed(change.where);
  return changes;
}

std::vector<TableColumn> columns_in(TomlFields& fields) {
  std::vector<TableColumn> columns;
  for (auto& column : fields.tables("column")) {
    auto key = key_in(column, keys_of(columns));
    columns.push_back(
        {std::move(key), column.text("title"), changes_in(column), only_texts(column.texts("notes"))});
    column.done();
  }
  return columns;
}

// A mean stands among the columns, so that its key has to be none of theirs.
std::string mean_key_in(TomlFields& fields, const std::vector<std::string>& taken) {
  auto key = fields.text("key");
  if (key.empty() || contains(taken, key))
    throw UsageError(fmt::format(
        "{}: the key '{}' of a mean must not be empty or that of a column or another mean; choose "
        "another.",
        fields.where("key"), key));
  return key;
}

std::vector<std::string> mean_columns_in(TomlFields& fields, const std::vector<std::string>& valid) {
  auto columns = fields.names("columns", valid, "column");
  for (auto column = columns.begin(); column != columns.end(); ++column)
    if (std::find(columns.begin(), column, *column) != column)
      throw UsageError(fmt::format("{}: table.mean.columns has '{}' twice; leave one out.",
                                   fields.where("columns"), *column));
  if (columns.size() < 2)
    throw UsageError(
        fmt::format("{}: table.mean.columns must name two columns or more.", fields.where("columns")));
  return columns;
}

std::vector<TableMean> means_in(TomlFields& fields, const std::vector<std::string>& columns) {
  std::vector<TableMean> means;
  auto taken = columns;
  for (auto& mean : fields.tables("mean")) {
    auto key = mean_key_in(mean, taken);
    taken.push_back(key);
    means.push_back({std::move(key), mean.text("title"), mean_columns_in(mean, columns)});
    mean.done();
  }
  return means;
}

// After all rows are known.
std::string baseline_in(TomlFields& fields, const std::string& own, const std::vector<std::string>& rows) {
  auto baseline = fields.name("baseline", rows, "row");
  if (baseline == own)
    throw UsageError(fmt::format("{}: table.row.baseline names '{}', which is this row itself; name another.",
                                 fields.where("baseline"), baseline));
  return baseline;
}

std::vector<TableRow> rows_in(TomlFields& fields, const std::vector<std::string>& columns) {
  std::vector<TableRow> rows;
  auto tables = fields.tables("row");
  for (auto& row : tables) {
    auto key = row_key_in(row, keys_of(rows));
    rows.push_back({std::move(key), row.text("title"), changes_in(row), row.flag("controls", true), "",
                    row.numbers("paper", columns, "column"), row.numbers("paper_seconds", columns, "column"),
                    row.numbers("paper_wall_seconds", columns, "column"),
                    row.numbers("paper_memory", columns, "column")});
  }
  const auto keys = keys_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].baseline = baseline_in(tables[i], keys[i], keys);
    tables[i].done();
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
  return std::ranges::any_of(rows, [](const TableRow& row) { return !row.paper.empty(); });
}

bool TableRecipe::has_cells(std::string_view wish) const {
  const auto slash = wish.find('/');
  if (slash == std::string_view::npos)
    return contains(keys_of(columns), wish) || contains(keys_of(rows), wish);
  return contains(keys_of(columns), wish.substr(0, slash)) && contains(keys_of(rows), wish.substr(slash + 1));
}

TableRecipe read_table(std::string_view toml, std::string_view name, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  const auto* const node = root.get_as<toml::table>("table");
  if (node == nullptr && root.contains("figure"))
    throw UsageError(fmt::format(
        "{} lists figures, and only the built-in ones can be drawn: use 'sadam reproduce curves'.", origin));
  if (node == nullptr)
    throw UsageError(
        fmt::format("{} has no [table]: it is a recipe of one run (sadam train), not of a table.", origin));
  if (root.contains("seed")) refuse_seed(TomlFields(root, origin, "").where("seed"));
  TomlFields fields(*node, origin, "table");
  TableRecipe table;
  table.name = name;
  table.origin = origin;
  table.text = toml;
  table.title = fields.text("title");
  table.seeds = table_seeds_in(fields);
  table.notes = only_texts(fields.texts("notes"));
  table.columns = columns_in(fields);
  table.means = means_in(fields, keys_of(table.columns));
  table.rows = rows_in(fields, keys_of(table.columns));
  table.baseline = fields.name("baseline", keys_of(table.rows), "row");
  for (auto& quick : fields.table("quick")) table.quick = quick_in(quick, keys_of(table.rows));
  fields.done();
  const auto refuse_empty = [&](bool empty, const char* key, const char* sentence) {
    if (empty) throw UsageError(fmt::format("{}: the table has no {}", fields.where(key), sentence));
  };
  refuse_empty(table.seeds.empty(), "seeds",
               "seeds; add table.seeds with one or more, such as seeds = [1, 2].");
  refuse_empty(table.columns.empty(), "column", "column; add at least one as [[table.column]].");
  refuse_empty(table.rows.empty(), "row", "row; add at least one as [[table.row]].");
  return table;
}

std::vector<FigureRecipe> read_figures(std::string_view toml, std::string_view origin) {
  const auto root = train::parse_toml(toml, origin);
  TomlFields fields(root, origin, "");
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
    if (built_in.name == name_or_path)
      return read_table(built_in.text, name_or_path, fmt::format("{}.toml", name_or_path));
    names.emplace_back(built_in.name);
  }
  names.emplace_back("figures");  // drawn without a recipe
  const std::filesystem::path path(name_or_path);
  if (path.extension() != ".toml")
    throw UsageError(
        fmt::format("there is no table '{}'{}", name_or_path, base::suggestion(name_or_path, names)));
  return read_table(base::read_text(path), path.stem().string(), name_or_path);
}

// ---- seeds, as they are typed and as they may be ----------------------------------------------------------

namespace {

std::int64_t seed_in(std::string_view text, std::string_view where) {
  std::int64_t seed = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc::result_out_of_range)
    throw UsageError(
        fmt::format("{}: {} is too large; use at most 9223372036854775807.", where, base::in_quotes(text)));
  if (error != std::errc() || rest != end)
    throw UsageError(fmt::format(
        "{}: {} is no seed; write integers with commas between them, or a range, such as 1,2,3 or 1-3.",
        where, base::in_quotes(text)));
  return seed;
}

constexpr std::size_t kMostSeeds = 1000;

// "7" or "1-3".
void add_seeds_in(std::string_view text, std::string_view where, std::vector<std::int64_t>& seeds) {
  const auto dash = text.find('-', 1);  // one at the front is a sign
  const auto first = seed_in(base::trimmed(text.substr(0, dash)), where);
  const auto last =
      dash == std::string_view::npos ? first : seed_in(base::trimmed(text.substr(dash + 1)), where);
  if (last < first)
    throw UsageError(fmt::format("{}: the range {} ends before it begins; write the smaller seed first.",
                                 where, base::in_quotes(text)));
  // Without their sign the difference of any two fits.
  const auto more = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  if (more >= kMostSeeds - seeds.size())
    throw UsageError(
        fmt::format("{}: these are more than {} seeds; ask for fewer at a time.", where, kMostSeeds));
  for (std::uint64_t i = 0; i <= more; ++i) seeds.push_back(first + static_cast<std::int64_t>(i));
}

}  // namespace

std::vector<std::int64_t> seeds_in(std::string_view text, std::string_view where) {
  std::vector<std::int64_t> seeds;
  for (;;) {
    const auto comma = text.find(',');
    add_seeds_in(base::trimmed(text.substr(0, comma)), where, seeds);
    if (comma == std::string_view::npos) return seeds;
    text.remove_prefix(comma + 1);
  }
}

void check_seeds(const std::vector<std::int64_t>& seeds, const std::string& where) {
  for (auto seed = seeds.begin(); seed != seeds.end(); ++seed) {
    if (*seed < 0) throw UsageError(fmt::format("{}: seed {} is negative; use 0 or more.", where, *seed));
    if (std::find(seeds.begin(), seed, *seed) != seed)
      throw UsageError(fmt::format("{}: seed {} is given twice, and would be counted as two; leave one out.",
                                   where, *seed));
  }
}

std::string_view field_of(std::string_view assignment) {
  return base::trimmed(assignment.substr(0, assignment.find('=')));
}

bool sets_seed(std::string_view assignment) { return field_of(assignment) == "seed"; }

}  // namespace sadam::reproduce
