#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "train/trained_run.h"
#include "train/trainer.h"

namespace sadam::cli {
namespace {

constexpr const char* kExportHelp =
    R"(Writes the weights of a run's last checkpoint to a safetensors file, with the
recipe of the run as metadata.

  sadam export first first.safetensors
      a run, by its name below --root or by its folder
  sadam export first best.safetensors --best
      the weights of its best epoch
  sadam eval --weights first.safetensors
      evaluates what was written)";

struct ExportArguments {
  RunArgument run;
  std::string file;
  bool best = false;
  bool force = false;
};

void export_now(const ExportArguments& arguments) {
  const auto target = base::writable_target(arguments.file);
  if (!arguments.force && std::filesystem::exists(target))
    throw Error(fmt::format("{} exists already: choose another name, or give --force to replace it.",
                            arguments.file));
  const auto paths = arguments.run.find();
  const auto bytes =
      train::export_run(paths, train::recipe_of(paths), {.best = arguments.best, .said = &std::cerr});
  base::write_file_atomically(target, bytes);
  std::cout << arguments.file << '\n';
}

}  // namespace

void add_export(CLI::App& app) {
  const auto [command, arguments] = add_command<ExportArguments>(app, "export", kExportHelp, export_now);
  arguments.run.add_to(command, "run", "Folder or name of a run")->required();
  not_empty(command.add_option("file", arguments.file, "The file to write")->required(),
            "name the file to write");
  arguments.run.add_root_to(command);
  command.add_flag("--best", arguments.best, "The checkpoint of the best epoch instead of the last");
  command.add_flag("--force", arguments.force, "Replaces a file that exists");
}

}  // namespace sadam::cli
