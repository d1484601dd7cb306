// How recipes, runs and trained models are given on a command line.
#pragma once

#include <fmt/format.h>
#include <sadam/process_group.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "reproduce/execute.h"
#include "train/recipe/source.h"
#include "train/record/run_folder.h"

namespace sadam::cli {

/// Values separated by commas.
inline CLI::Option* add_list_option(CLI::App& command, const std::string& name,
                                    std::vector<std::string>& list, const std::string& help) {
  return command.add_option(name, list, help)->delimiter(',')->allow_extra_args(false)->type_name("LIST");
}

/// Adds --set.
inline void add_set_option(CLI::App& command, std::vector<std::string>& sets, const std::string& help) {
  command.add_option("--set", sets, help)->type_name("FIELD=VALUE")->allow_extra_args(false);
}

/// Adds an option for one field, which ends up among the `--set` assignments.
template <class Value>
void add_field_option(CLI::App& command, const std::string& name, const std::string& field,
                      std::vector<std::string>& sets, const std::string& type, const std::string& help) {
  const auto set = [&sets, field](const Value& value) { sets.push_back(fmt::format("{}={}", field, value)); };
  command.add_option_function<Value>(name, set, help)->type_name(type);
}

/// Adds --device and --deterministic, which do too.
inline void add_device_options(CLI::App& command, std::vector<std::string>& sets) {
  add_field_option<std::string>(command, "--device", "train.device", sets, "DEVICE",
                                "Where to compute: cpu, cuda or cuda:N (train.device)");
  command.add_flag_callback(
      "--deterministic", [&sets] { sets.emplace_back("train.deterministic=true"); },
      "On a GPU: the same bits on every run, at some cost in speed");
}

/// Adds --processes, which does too.
inline void add_processes_option(CLI::App& command, std::vector<std::string>& sets) {
  add_field_option<std::int64_t>(command, "--processes", "train.processes", sets, "COUNT",
                                 "So many processes on this machine train a run together (train.processes)");
}

/// What torchrun, mpirun or srun has told this process; nothing if it is alone.
std::optional<RankOptions> launched_rank();
/// For work that no launcher can share out. Throws a UsageError under one.
void check_not_launched(const std::string& what);

/// A recipe: a file, then changes to it.
struct RecipeOptions {
  std::string file;
  std::vector<std::string> sets;

  void add_to(CLI::App& command) {
    not_empty(
        command.add_option("recipe", file, "A recipe in TOML; every field it does not set has its default"),
        "name a file, or leave it out for the default of every field");
    add_sets_to(command);
  }
  void add_sets_to(CLI::App& command, const std::string& example = "optimizer.probes=8") {
    add_set_option(command, sets,
                   fmt::format("Changes a field, such as {}; 'sadam info recipe' lists them", example));
    add_device_options(command, sets);
  }

  /// The text of the file; "" without one. It may be a pipe, which can be read once.
  std::string read() const;

  /// On top of what is in `source` already.
  train::Recipe resolve(const train::RecipeSource& source = {}) const { return resolve(read(), source); }
  train::Recipe resolve(const std::string& text, train::RecipeSource source) const {
    if (!file.empty()) source.add_text(text, file);
    for (const auto& assignment : sets) source.set(assignment);
    return source.resolve();
  }
};

/// Several runs at once, and what a process is told that was started for that.
struct JobOptions {
  std::int64_t jobs = 1;
  reproduce::ExecuteOptions::Worker worker;

  void add_to(CLI::App& command);
  bool is_worker() const { return !worker.plan.empty(); }
};

/// A run: by its folder, or by its name below --root.
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

/// The folder of several runs that a word names, by its path or below the root, if it names no run itself.
std::optional<std::filesystem::path> folder_of_runs(const std::string& name,
                                                    const std::filesystem::path& root);

/// A trained model: a run, or a weight file with the recipe it was trained by.
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

/// One number of a list. Throws a UsageError that names the option, with an example of such a list.
double number_from(const std::string& text, std::string_view option, std::string_view example);

/// Throws an Error if there is something that is no folder where the runs should be.
void check_root(const std::filesystem::path& root);

/// A name for a new run must be one plain name, so that the run lands below its root, in a folder that is
/// taken for no option and not hidden. Throws a UsageError for any other.
void check_run_name(const std::string& name);

}  // namespace sadam::cli
