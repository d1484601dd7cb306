#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/usage_error.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/recipe_options.h"
#include "cli/run_argument.h"
#include "cli/stop_signal.h"
#include "train/progress.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::cli {
namespace {

constexpr const char* kTrainHelp =
    "Trains a network as a recipe says, and keeps everything about the run in a folder.\n\n"
    "  sadam train --name first                               the defaults: S-Adam, 2-bit QATNet, built-in "
    "data\n"
    "  sadam train my.toml --set seed=7 --name seed7\n"
    "  sadam train --set data.name=cifar100 --set optimizer.name=adamw --set schedule.name=cosine\n"
    "  sadam train --resume runs/first                        goes on where it was stopped or killed\n"
    "  sadam train --resume first                             the same: names are looked up below --root\n\n"
    "Ctrl-C, SIGTERM and SIGHUP save the run and leave. A run goes on only with the recipe and the events it "
    "was saved\n"
    "with: of its run.toml, title, data.root and train.checkpoint_every may be changed meanwhile.";

struct TrainArguments {
  RecipeOptions recipe;
  std::string name;
  RunArgument resume;  ///< its root is that of a new run too
  bool quiet = false;
};

// "cifar100-qatnet-sadam-42", with a number behind it where that exists already.
std::filesystem::path free_folder(const std::filesystem::path& root, const train::Recipe& recipe) {
  auto stem = recipe.data.name + "-" + recipe.model.name + "-" + recipe.optimizer.name + "-" +
              std::to_string(recipe.seed);
  for (auto& c : stem)
    if (c == '/' || c == ':') c = '_';
  auto folder = root / stem;
  std::error_code unreadable;
  for (int i = 2; std::filesystem::exists(folder, unreadable); ++i)
    folder = root / (stem + "-" + std::to_string(i));
  return folder;
}

train::RunFolder folder_for(const TrainArguments& arguments, train::DataSets& data) {
  if (!arguments.resume.name.empty()) return train::RunFolder::open(arguments.resume.find().folder);
  if (!arguments.name.empty()) check_run_name(arguments.name);
  const auto recipe = arguments.recipe.resolve();
  const std::filesystem::path root = arguments.resume.root;
  check_root(root);
  return train::begin_run(arguments.name.empty() ? free_folder(root, recipe) : root / arguments.name, recipe,
                          data);
}

void train_now(const TrainArguments& arguments) {
  if (!arguments.resume.name.empty() &&
      (!arguments.recipe.file.empty() || !arguments.recipe.sets.empty() || !arguments.name.empty()))
    throw UsageError(
        "--resume goes on with the recipe of the run: leave out the recipe, --set, --device, --deterministic "
        "and --name.");
  const StopSignal stop;
  train::DataSets data;
  const auto folder = folder_for(arguments, data);
  const auto& where = folder.paths().folder.string();
  train::Progress progress(
      std::cerr, {.style = arguments.quiet ? train::ProgressStyle::quiet : train::progress_style(stderr)});
  const auto outcome =
      train::continue_run(folder, {.progress = &progress, .stop = &StopSignal::flag(), .data = &data});
  if (outcome == train::Outcome::stopped) {
    std::cerr << "Stopped and saved; go on with: sadam train --resume " << where << '\n';
    throw Interrupted();
  }
  if (outcome == train::Outcome::was_finished)
    std::cerr << where << " is finished: evaluate it with 'sadam eval " << where
              << "', or take its weights with 'sadam export " << where << " FILE'.\n";
  std::cout << where << '\n';
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  auto& command = add_command(app, "train", kTrainHelp);
  arguments->recipe.add_to(command);
  not_empty(command.add_option("--name", arguments->name,
                               "Name of the run; without one it is made from the recipe"),
            "choose a name, or leave it out for one made from the recipe");
  add_root_option(command, arguments->resume.root, "Folder of the runs");
  arguments->resume.add_to(command, "--resume", "Folder or name of a run to go on with");
  command.add_flag("--quiet", arguments->quiet, "Shows no progress");
  command.callback([arguments] { train_now(*arguments); });
}

}  // namespace sadam::cli
