// How a run is named on a command line: by its folder, or by its name below --root.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "cli/not_empty.h"
#include "train/record/run_folder.h"

namespace sadam::cli {

struct RunArgument {
  std::string name;
  std::string root = "runs";

  CLI::Option* add_to(CLI::App& command, const std::string& option, const std::string& help) {
    return not_empty(command.add_option(option, name, help)->type_name("RUN"),
                     "give the folder of a run, or its name below --root");
  }
  void add_root_to(CLI::App& command) {
    add_root_option(command, root, "Folder in which names of runs are looked up");
  }

  /// Throws a UsageError, with the nearest name that there is, if there is no such run.
  train::RunPaths find() const { return train::find_run(name, root); }
};

/// Throws an Error if there is something that is no folder where the runs should be.
void check_root(const std::filesystem::path& root);

/// A name for a new run must be one plain name, so that the run lands below its root, in a folder that is
/// taken for no option and not hidden. Throws a UsageError for any other.
void check_run_name(const std::string& name);

}  // namespace sadam::cli
