#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>
#include <vector>

#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/reproduce.h"
#include "reproduce/execute.h"
#include "reproduce/sweep.h"
#include "train/progress.h"
#include "train/recipe/fields.h"
#include "train/recipe/short_name.h"
#include "train/setup.h"
#include "train/trainer.h"

namespace sadam::cli {
namespace {

constexpr const char* kTrainHelp =
    R"(Trains a network as a recipe says. A folder keeps all of the run: its recipe,
its results step by step, and a checkpoint to go on from.

  sadam train --name first
      the defaults: S-Adam, a 2-bit QATNet, built-in data
  sadam train my.toml --set seed=7 --name seed7
      a recipe in a file, with one field changed
  sadam train --set data.name=cifar100 --set optimizer.name=adamw
  sadam train --resume first
      goes on where the run was stopped or killed
  sadam train --resume first --set train.epochs=20
      goes on for more epochs than it was told at first
  sadam train --set optimizer.lr=1e-4,1e-3,1e-2 --set seed=1-3 -j 2
      a grid: nine runs in one folder, two at a time; the same command goes on
      where it was stopped. 'sadam compare FOLDER' puts them side by side

In a grid, commas separate the values of a field, except in a title, in paths
and in text in quotes. A recipe file says the same in a table [sweep]. --name
names the folder of the grid.

Ctrl-C saves the run and leaves; so do SIGTERM and SIGHUP. A run goes on with
the recipe it was saved with. --set may change title, data.root,
train.checkpoint_every, the folder: that its images were moved to, and
train.epochs where the schedule does not depend on it.)";

struct TrainArguments {
  RecipeOptions recipe;
  std::string name;
  RunArgument resume;  ///< its root is that of a new run too
  JobOptions jobs;
  bool plan_only = false;
  bool quiet = false;
};

// What was changed, with a number behind it where that exists already.
std::filesystem::path free_folder(const std::filesystem::path& root, const std::string& stem) {
  auto folder = root / stem;
  std::error_code unreadable;
  for (int i = 2; std::filesystem::exists(folder, unreadable); ++i)
    folder = root / fmt::format("{}-{}", stem, i);
  return folder;
}

// The command that made a grid goes on with it.
void check_is_no_grid(const RunArgument& resume) {
  if (train::find_run_if(resume.name, resume.root)) return;
  for (const auto& folder :
       {std::filesystem::path(resume.name), resume.root / std::filesystem::path(resume.name)})
    if (const auto runs = train::find_runs(folder); !runs.empty())
      throw UsageError(
          fmt::format("{} holds {}: give the command that made them again, or --resume one of "
                      "them, such as {}.",
                      folder.string(), base::counted(runs.size(), "run"), runs.front().folder.string()));
}

train::RunFolder folder_for(const TrainArguments& arguments, const std::string& text, train::DataSets& data) {
  if (!arguments.resume.name.empty()) {
    check_is_no_grid(arguments.resume);
    auto folder = train::RunFolder::open(arguments.resume.find().folder);
    if (!arguments.recipe.sets.empty()) {
      train::RecipeSource source;
      source.add_file(folder.paths().recipe());
      train::change_recipe(folder, arguments.recipe.resolve(source), data);
    }
    return folder;
  }
  if (!arguments.name.empty()) check_run_name(arguments.name);
  train::RecipeSource source;
  source.ignore("sweep");
  const auto recipe = arguments.recipe.resolve(text, source);
  const std::filesystem::path root = arguments.resume.root;
  check_root(root);
  if (!arguments.name.empty()) return train::begin_run(root / arguments.name, recipe, data);
  const auto base = train::named_recipe(arguments.recipe.file, text);
  const auto stem = train::short_name(recipe, base ? &*base : nullptr);
  for (;;) {
    const auto folder = free_folder(root, stem);
    try {
      return train::begin_run(folder, recipe, data);
    } catch (const train::FolderInUse&) {
      // Another process took it in this moment, so it exists now: the next name is free.
    } catch (const Error&) {
      // The same, and it was quick to end.
      if (!std::filesystem::exists(train::RunPaths{folder}.recipe())) throw;
    }
  }
}

// Every combination of the fields that have several values, each a run of its own.
void train_grid(const TrainArguments& arguments, const reproduce::SweepRequest& request,
                const std::vector<reproduce::SweptField>& fields) {
  if (!arguments.name.empty()) check_run_name(arguments.name);
  check_root(request.root);
  const auto plan = plan_sweep(request, fields);
  const auto folder = request.root / plan.name;
  std::error_code unreadable;
  if (std::filesystem::exists(train::RunPaths{folder}.recipe(), unreadable))
    throw UsageError(fmt::format("{} is a run, and cannot hold the runs of a grid: choose another --name.",
                                 folder.string()));
  if (arguments.plan_only) {
    check_runs(plan);
    for (const auto& run : plan.runs) std::cout << run.folder.string() << '\n';
    return;
  }
  if (arguments.jobs.jobs > 1 && !request.file.empty() &&
      !std::filesystem::is_regular_file(request.file, unreadable))
    throw UsageError(
        fmt::format("-j reads the recipe once for each process, and {} is no file that can be read "
                    "again: put it into one.",
                    base::in_quotes(request.file)));
  const StopSignal stop;
  ProgressOutput output(arguments.quiet || arguments.jobs.is_worker(), true);
  const auto execution = execute(plan, output.options(arguments.jobs));
  if (arguments.jobs.is_worker()) return conclude(execution, arguments.jobs);
  if (!execution.unavailable.empty()) throw Error(execution.unavailable.begin()->second);
  if (const auto sentence = about_elsewhere(execution); !sentence.empty()) std::cerr << sentence << '\n';
  conclude(execution, arguments.jobs);
  output.lines << fmt::format("Compare them with: sadam compare {}\n", folder.string()) << std::flush;
  std::cout << folder.string() << '\n';
}

// The fields that a run may be given anew.
bool may_be_given_anew(const std::string& assignment) {
  const auto field = assignment.substr(0, assignment.find('='));
  return field == "train.epochs" || field == "data.name" || train::may_change(field);
}

void train_now(const TrainArguments& arguments) {
  if (!arguments.resume.name.empty() &&
      (!arguments.recipe.file.empty() || !arguments.name.empty() ||
       !std::all_of(arguments.recipe.sets.begin(), arguments.recipe.sets.end(), may_be_given_anew)))
    throw UsageError(
        "--resume goes on with the recipe of the run: leave out the recipe, --device, --deterministic, "
        "--name and every --set but those of train.epochs, title, data.root, data.name (a folder: that was "
        "moved) and train.checkpoint_every.");
  const auto text = arguments.recipe.read();
  if (arguments.resume.name.empty()) {
    const reproduce::SweepRequest request{arguments.recipe.file, text, arguments.recipe.sets, arguments.name,
                                          arguments.resume.root};
    if (const auto fields = swept_fields(request); !fields.empty())
      return train_grid(arguments, request, fields);
  }
  if (arguments.jobs.jobs > 1 || arguments.plan_only)
    throw UsageError(
        "-j and --plan are for a grid, and this is one run: give a field several values, such as "
        "--set seed=1-3.");
  const StopSignal stop;
  train::DataSets data;
  const auto folder = folder_for(arguments, text, data);
  const auto& where = folder.paths().folder.string();
  train::Progress progress(std::cerr, train::progress_on_stderr(arguments.quiet));
  const auto outcome = [&] {
    try {
      return train::continue_run(folder, {.progress = &progress, .stop = &StopSignal::flag(), .data = &data});
    } catch (const Error&) {
      if (arguments.resume.name.empty()) train::take_back(folder);
      throw;
    }
  }();
  if (outcome == train::Outcome::stopped) {
    std::cerr << fmt::format("Stopped and saved; go on with: sadam train --resume {}\n", where);
    throw Interrupted();
  }
  if (outcome == train::Outcome::was_finished)
    std::cerr << fmt::format(
        "{0} is finished: evaluate it with 'sadam eval {0}', or take its weights with 'sadam export {0} "
        "FILE'.\n",
        where);
  std::cout << where << '\n';
}

}  // namespace

void add_train(CLI::App& app) {
  auto arguments = std::make_shared<TrainArguments>();
  auto& command = add_command(app, "train", kTrainHelp);
  arguments->recipe.add_to(command);
  not_empty(command.add_option("--name", arguments->name,
                               "Name of the run or grid; without one it is made from the recipe"),
            "choose a name, or leave it out for one made from the recipe");
  add_root_option(command, arguments->resume.root, "Folder of the runs");
  arguments->resume.add_to(command, "--resume", "Folder or name of a run to go on with");
  arguments->jobs.add_to(command);
  command.add_flag("--plan", arguments->plan_only, "Only lists the folders of a grid's runs");
  command.add_flag("--quiet", arguments->quiet, "Shows no progress");
  command.callback([arguments] { train_now(*arguments); });
}

}  // namespace sadam::cli
