// Recipes from TOML: files, then changes from the command line, checked and resolved once at the end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/recipe/recipe.h"

namespace sadam::train {

/// TOML tables laid over one another; what comes later wins.
class RecipeSource {
 public:
  RecipeSource();
  RecipeSource(const RecipeSource&);
  RecipeSource& operator=(const RecipeSource&);
  ~RecipeSource();

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
  struct Layers;
  std::unique_ptr<Layers> layers_;
};

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

}  // namespace sadam::train
