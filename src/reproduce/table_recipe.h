// A table of the paper as data: rows and columns, each a few changes to one recipe, the seeds of its cells,
// and the paper's numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::reproduce {

/// A change to the recipe, and where it is written.
struct Change {
  std::string text;   ///< "data.name = 'cifar100'"
  std::string where;  ///< "table1.toml:12"
};

struct TableColumn {
  std::string key;
  std::string title;
  std::vector<Change> set;
  std::vector<std::string> notes;  ///< what differs from the paper where this column is shown
};

/// Columns that are averaged seed by seed, such as those of several learning rates.
struct TableMean {
  std::string key;  ///< not that of a column
  std::string title;
  std::vector<std::string> columns;  ///< keys; two or more
};

struct TableRow {
  std::string key;
  std::string title;
  std::vector<Change> set;
  bool controls = true;  ///< S-Adam rows get controls; not where the brake is always 1
  std::string baseline;  ///< key of the row that its differences are taken from; "": the table's baseline
  std::map<std::string, double> paper;               ///< best test accuracy in percent, by column
  std::map<std::string, double> paper_seconds;       ///< convergence time, by column
  std::map<std::string, double> paper_wall_seconds;  ///< time of the whole run, by column
  std::map<std::string, double> paper_memory;        ///< largest memory in MB, by column
};

struct TableRecipe {
  std::string name;    ///< "table1"
  std::string origin;  ///< "recipes/table1.toml": what messages call it
  std::string text;    ///< the whole TOML: its fields outside [table] are the recipe that all cells share
  std::string title;
  std::string baseline;  ///< key of the row whose best accuracy defines convergence; "" if there is none
  std::vector<std::int64_t> seeds;
  std::vector<std::string> notes;  ///< what always differs from the paper
  std::vector<TableColumn> columns;
  std::vector<TableMean> means;
  std::vector<TableRow> rows;

  /// What --quick changes; without it the table has no quick version.
  struct Quick {
    std::vector<std::int64_t> seeds;
    std::vector<std::string> rows;  ///< keys; empty: all
    std::vector<Change> set;
    std::vector<TableColumn> columns;  ///< empty: the table's own
  };
  std::optional<Quick> quick;

  /// Key of the row that the differences of `row` are taken from; "" if there is none.
  const std::string& baseline_of(const TableRow& row) const {
    return row.baseline.empty() ? baseline : row.baseline;
  }
  /// Whether some row has a number of the paper's.
  bool has_paper_numbers() const;
  /// Whether it has the cells of such a name: a column, a row, or column/row.
  bool has_cells(std::string_view wish) const;
};

/// A figure: the curves of some runs of a table.
struct FigureRecipe {
  std::string key;
  std::string title;
  std::string table;
  std::vector<std::string> columns;  ///< keys; empty: all
  std::vector<std::string> rows;
  std::vector<std::string> measures;  ///< "test_accuracy", "train_loss", "test_loss": a panel each
};

/// `origin` names the text in messages. Throws a UsageError that names the line and the field.
TableRecipe read_table(std::string_view toml, std::string_view name, std::string_view origin);
std::vector<FigureRecipe> read_figures(std::string_view toml, std::string_view origin);

/// The recipes that are built into the program: table1 … table5, curves.
struct BuiltIn {
  std::string_view name;
  std::string_view text;
};
const std::vector<BuiltIn>& built_in_recipes();

/// A built-in table by name, or a TOML file by path. Throws a UsageError with the nearest name.
TableRecipe find_table(const std::string& name_or_path);

/// Of rows, columns, means and figures.
template <class Keyed>
std::vector<std::string> keys_of(const std::vector<Keyed>& items) {
  std::vector<std::string> keys;
  for (const auto& item : items) keys.push_back(item.key);
  return keys;
}

inline bool contains(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// As typed: "1,2,3", "1-3", "1-3,7". Throws a UsageError for what is no such list, a range that ends before
/// it begins, and more than 1000 seeds. `where` is what its sentence begins with.
std::vector<std::int64_t> seeds_in(std::string_view text, std::string_view where = "--seeds");

/// Throws a UsageError that begins with `where` ("--seeds", "mine.toml:4") for a seed that is negative or
/// there twice.
void check_seeds(const std::vector<std::int64_t>& seeds, const std::string& where);

/// The field of a change to a recipe: "seed" of "seed = 3".
std::string_view field_of(std::string_view assignment);

/// Whether a change is about the seed, which a table has its own place for.
bool sets_seed(std::string_view assignment);

}  // namespace sadam::reproduce
