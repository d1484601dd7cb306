// How recipes are given on a command line: a file, then changes to it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/device_options.h"
#include "cli/not_empty.h"
#include "train/recipe/source.h"

namespace sadam::cli {

struct RecipeOptions {
  std::string file;
  std::vector<std::string> sets;

  void add_to(CLI::App& command) {
    not_empty(
        command.add_option("recipe", file, "A recipe in TOML; without one, every field has its default"),
        "name a file, or leave it out for the default of every field");
    add_sets_to(command);
  }
  void add_sets_to(CLI::App& command, const std::string& example = "optimizer.probes=8") {
    command
        .add_option("--set", sets, "Changes a field, such as " + example + "; 'sadam info recipe' lists them")
        ->type_name("FIELD=VALUE")
        ->allow_extra_args(false);
    add_device_options(command, sets);
  }

  /// On top of what is in `source` already.
  train::Recipe resolve(train::RecipeSource source = {}) const {
    if (!file.empty()) source.add_file(file);
    for (const auto& assignment : sets) source.set(assignment);
    return source.resolve();
  }
};

}  // namespace sadam::cli
