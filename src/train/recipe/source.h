// Recipes from TOML: files, then changes from the command line, checked and resolved once at the end.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/recipe/fields.h"
#include "train/recipe/recipe.h"
#include "train/record/run_folder.h"

namespace sadam::train {

/// TOML tables laid over one another; what comes later wins.
class RecipeSource {
 public:
  /// `origin` names the text in messages, with the line: "table1.toml:12: …".
  void add_text(std::string_view toml, std::string_view origin);
  void add_file(const std::filesystem::path& path);
  /// "optimizer.probes=8". The value is read as TOML, and as a plain string where it is none. `where` names
  /// the place in messages, if it is not the option --set.
  void set(std::string_view assignment, std::string_view where = "");
  /// Passes over a table (or array of tables) that a file has for other readers. [run], which a run writes
  /// about itself, is always passed over.
  void ignore(std::string_view table_name);

  /// Throws a UsageError for an unknown field (with the nearest valid one), a value of the wrong type or out
  /// of range, and fields that contradict each other.
  Recipe resolve() const;

  /// What gave a field its value: "table1.toml:12", "--set data.name"; "" where nothing did.
  std::string where(std::string_view field) const;

 private:
  bool ignores(const Entry& entry) const;

  std::vector<Entry> entries_;  ///< in the order in which they came: later ones win
  std::vector<std::string> ignored_{"run"};
};

/// A recipe that is one text.
Recipe recipe_in(std::string_view text, std::string_view origin);

/// The recipe of a run that was begun, from its folder. Throws an Error for a run.toml that is not there,
/// empty or no TOML, and a UsageError for one with a field or value that this program does not know.
Recipe recipe_of(const RunPaths& paths);

/// What an optimizer's fields are when only its name and its preset, which are valid, are given.
OptimizerRecipe plain_optimizer(const OptimizerRecipe& optimizer);

}  // namespace sadam::train
