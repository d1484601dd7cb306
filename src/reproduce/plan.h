// Which runs a table needs, and where they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/run_summary.h"
#include "reproduce/table_recipe.h"
#include "step/option_names.h"
#include "train/recipe/recipe.h"

namespace sadam::train {
class RecipeSource;
}

namespace sadam::reproduce {

// clang-format off
#define SADAM_TABLE_CONTROLS(VALUE)                                                                          \
  VALUE(none, "the row itself")                                                                              \
  VALUE(matched, "AdamW × the mean brake of the row's run with the same seed")                               \
  VALUE(shuffled, "AdamW × that run's brakes in random order")                                               \
  VALUE(replayed, "AdamW × the brakes of the row's run with another seed, step by step")                    \
  VALUE(cosine, "AdamW, the learning rate falling to 0; one for all rows")
// clang-format on

/// What is left of S-Adam's effect when the brake no longer answers to the loss.
enum class Control { SADAM_TABLE_CONTROLS(SADAM_ENUMERATOR) };
SADAM_FAMILY(Control, SADAM_TABLE_CONTROLS)

/// Whether it has the brakes of a row, below which it stands.
inline bool is_of_a_row(Control control) { return control != Control::none && control != Control::cosine; }

/// As typed: "matched", "cosine". Throws a UsageError with the nearest name.
Control control_named(const std::string& name);

/// What the command line asks for.
struct Request {
  bool quick = false;
  /// `replayed` only where it is asked for.
  std::vector<Control> controls = {Control::matched, Control::shuffled, Control::cosine};
  std::optional<std::int64_t> epochs;
  std::vector<std::int64_t> seeds;  ///< empty: the table's own
  /// "cifar100", "adamw" or "cifar100/sadam-k2": a column, a row, or both; several add up; empty: everything.
  std::vector<std::string> only;
  std::optional<std::string> baseline;  ///< key of the row that all differences are taken from
  std::vector<std::string> set;         ///< changes to every run
  std::filesystem::path root = "runs";
};

struct PlannedRun {
  std::size_t column = 0;  ///< index into Plan::table.columns
  std::size_t row = 0;     ///< index into Plan::table.rows; of a `cosine` control: rows.size()
  Control control = Control::none;
  std::int64_t seed = 0;
  train::Recipe recipe;
  std::shared_ptr<const train::RecipeSource> source;  ///< of the cell's recipe: where its fields are set
  std::filesystem::path folder;

  std::string cell(const TableRecipe& table) const;  ///< "cifar100/sadam-k2"; of a grid: "lr1e-4"
  std::string label(
      const TableRecipe& table) const;  ///< "cifar100/sadam-k2 matched, seed 42"; "lr1e-4-seed1"
};

struct Plan {
  std::string name;                      ///< of the folder below the root: "table1-quick"
  TableRecipe table;                     ///< with --quick and --only applied
  std::vector<PlannedRun> runs;          ///< in an order in which a control comes after what it controls
  bool of_the_paper = false;             ///< rather than a table of somebody's own
  std::vector<std::string> differences;  ///< from the paper, or from the table as it is written; a line each
  /// What the runs came to, where they were recorded elsewhere; else they are read from their folders.
  std::optional<std::vector<report::RunSummary>> recorded;
};

/// What names get behind them, so that short runs never mix with full ones: "", "-quick", "-3-epochs".
std::string variant_of(const Request& request);

/// Resolves it. What is wrong with several fields together, which may come from several places, names neither
/// the file `origin` nor an option: `who` goes before that.
train::Recipe resolved(const train::RecipeSource& source, const std::string& origin, const std::string& who);

/// Throws a UsageError for a selection that is empty or names nothing, and for what a recipe refuses.
Plan make_plan(TableRecipe table, const Request& request);

}  // namespace sadam::reproduce
