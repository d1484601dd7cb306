// A trained model on a command line: a run, or a weight file with the recipe it was trained by.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/arguments.h"
#include "train/recipe/recipe.h"
#include "train/record/run_folder.h"

namespace sadam::cli {

struct ModelArgument {
  RunArgument run;
  std::string weights;
  RecipeOptions recipe;
  bool ignore_recipe = false;
  bool best = false;  ///< the checkpoint of the best epoch

  void add_to(CLI::App& command);

  struct Found {
    train::RunPaths paths;  ///< of the run; its folder is empty for a weight file
    train::Recipe recipe;
  };
  bool is_given() const { return !run.name.empty() || !weights.empty(); }
  /// Throws a UsageError if neither or both are given, or if there is no such run. `command` is named in it.
  Found find(const std::string& command) const;
};

}  // namespace sadam::cli
