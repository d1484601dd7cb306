#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/reproduce.h"
#include "reproduce/execute.h"
#include "reproduce/sweep.h"
#include "train/progress.h"
#include "train/recipe/fields.h"
#include "train/recipe/short_name.h"
#include "train/setup.h"
#include "train/team.h"
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

  sadam train --processes 2
      two processes train one run, each on its half of every batch
  torchrun --nproc_per_node 8 --no-python sadam train --name first
      so do those that torchrun, srun or mpirun starts (docs/processes.md)

In a grid, commas separate the values of a field, except in a title, in paths
and in text in quotes. A recipe file says the same in a table [sweep]. --name
names the folder of the grid.

Ctrl-C saves the run and leaves; so do SIGTERM and SIGHUP. A run goes on with
the recipe it was saved with. --set may change title, data.root,
train.checkpoint_every, train.processes and train.split, the folder: that its
images were moved to, and train.epochs where the schedule does not depend on
it.)";

struct TrainArguments {
  RecipeOptions recipe;
  std::string name;
  RunArgument resume;  ///< its root is that of a new run too
  JobOptions jobs;
  bool plan_only = false;
  bool quiet = false;
  bool join = false;  ///< this is a rank that another process of this program has started
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
  const auto folder = folder_of_runs(resume.name, resume.root);
  if (!folder) return;
  const auto runs = train::find_runs(*folder);
  throw UsageError(
      fmt::format("{} holds {}: give the command that made them again, or --resume one of them, such as {}.",
                  folder->string(), base::counted(runs.size(), "run"), runs.front().folder.string()));
}

using Launched = std::optional<RankOptions>;

// There are as many processes as the launcher has started.
train::Recipe with_processes(train::Recipe recipe, const Launched& launched) {
  if (!launched) return recipe;
  auto& processes = recipe.train.processes;
  if (processes != 1 && processes != launched->size())
    std::cerr << fmt::format(
        "The recipe has train.processes = {}, and the launcher started {}, which train.\n", processes,
        launched->size());
  processes = launched->size();
  return recipe;
}

// torchrun starts the same command again when a rank has failed: then the run goes on.
bool is_begun_by_earlier_attempt(const TrainArguments& arguments, const Launched& launched) {
  const char* const restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return launched && !arguments.name.empty() && restarts != nullptr && std::string_view(restarts) != "0" &&
         train::find_run_if(arguments.name, arguments.resume.root);
}

train::RunFolder folder_for(const TrainArguments& arguments, const std::string& text, train::DataSets& data,
                            const Launched& launched) {
  const auto go_on_with = [&](train::RunFolder folder, bool changes) {
    if (!changes && !launched) return folder;
    train::RecipeSource source;
    source.add_file(folder.paths().recipe());
    train::change_recipe(
        folder, with_processes(changes ? arguments.recipe.resolve(source) : source.resolve(), launched),
        data);
    return folder;
  };
  if (!arguments.resume.name.empty()) {
    check_is_no_grid(arguments.resume);
    return go_on_with(train::RunFolder::open(arguments.resume.find().folder), !arguments.recipe.sets.empty());
  }
  if (!arguments.name.empty()) check_run_name(arguments.name);
  train::RecipeSource source;
  source.ignore("sweep");
  const auto recipe = with_processes(arguments.recipe.resolve(text, source), launched);
  const auto local_processes = launched ? launched->local_size() : 0;
  const std::filesystem::path root = arguments.resume.root;
  check_root(root);
  if (is_begun_by_earlier_attempt(arguments, launched))
    return go_on_with(train::RunFolder::open(root / arguments.name), /*changes=*/false);
  if (!arguments.name.empty()) return train::begin_run(root / arguments.name, recipe, data, local_processes);
  const auto base = train::named_recipe(arguments.recipe.file, text);
  const auto stem = train::short_name(recipe, base ? &*base : nullptr);
  for (;;) {
    const auto folder = free_folder(root, stem);
    try {
      return train::begin_run(folder, recipe, data, local_processes);
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
  check_not_launched("A grid");
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
  return field == "train.epochs" || field == "train.threads" || field == "data.name" ||
         train::may_change(field);
}

void train_run(const TrainArguments& arguments, const std::string& text, const Launched& launched,
               train::Team* team) {
  train::DataSets data;
  const auto folder = folder_for(arguments, text, data, launched);
  const auto& where = folder.paths().folder.string();
  train::Progress progress(std::cerr, train::progress_on_stderr(arguments.quiet));
  const auto outcome = [&] {
    try {
      return train::continue_run(
          folder, {.progress = &progress, .stop = &StopSignal::flag(), .data = &data, .team = team});
    } catch (const Error&) {
      if (arguments.resume.name.empty()) train::take_back(folder);
      throw;
    }
  }();
  if (outcome == train::Outcome::stopped)
    throw Interrupted{fmt::format("Stopped and saved; go on with: sadam train --resume {}", where)};
  if (outcome == train::Outcome::was_finished)
    std::cerr << fmt::format(
        "{0} is finished: evaluate it with 'sadam eval {0}', or take its weights with 'sadam export {0} "
        "FILE'.\n",
        where);
  std::cout << where << '\n';
}

// A rank other than 0.
void help_with_run(train::Team& team) {
  const auto outcome = train::help_with_run(team, {.stop = &StopSignal::flag()});
  if (outcome == train::Outcome::stopped) throw Interrupted();
}

// One of several that `launched` tells of.
void train_as_rank(const TrainArguments& arguments, const std::string& text, const RankOptions& launched) {
  train::Team team(launched);
  auto told = fmt::format("{}\n{}\n{}", text, arguments.name, arguments.resume.name);
  for (const auto& set : arguments.recipe.sets) told += fmt::format("\n{}", set);
  team.compare(base::crc32(std::as_bytes(std::span(told))), "another command line or recipe",
               "give all the same");
  if (!team.leads()) return help_with_run(team);
  try {
    train_run(arguments, text, launched, &team);
  } catch (const std::exception&) {
    team.call_off();
    throw;
  }
}

// What train::LocalRanks starts.
void train_as_local_rank() {
  const auto rank = launched_rank();
  if (!rank) throw UsageError("--join is for processes that 'sadam train --processes' starts: leave it out.");
  const StopSignal stop;
  train::Team team(*rank);
  help_with_run(team);
}

void train_now(const TrainArguments& arguments) {
  if (arguments.join) return train_as_local_rank();
  if (!arguments.resume.name.empty() &&
      (!arguments.recipe.file.empty() || !arguments.name.empty() ||
       !std::all_of(arguments.recipe.sets.begin(), arguments.recipe.sets.end(), may_be_given_anew)))
    throw UsageError(
        "--resume goes on with the recipe of the run: leave out the recipe, --device, --deterministic, "
        "--name and every --set but those of train.epochs, title, data.root, data.name (a folder: that was "
        "moved), train.processes, train.split, train.threads (with other processes) and "
        "train.checkpoint_every.");
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
  const auto launched = launched_rank();
  const StopSignal stop(launched.has_value());
  if (launched) return train_as_rank(arguments, text, *launched);
  train_run(arguments, text, launched, nullptr);
}

}  // namespace

void add_train(CLI::App& app) {
  const auto [command, arguments] = add_command<TrainArguments>(app, "train", kTrainHelp, train_now);
  arguments.recipe.add_to(command);
  add_processes_option(command, arguments.recipe.sets);
  not_empty(command.add_option("--name", arguments.name,
                               "Name of the run or grid; without one it is made from the recipe"),
            "choose a name, or leave it out for one made from the recipe");
  add_root_option(command, arguments.resume.root, "Folder of the runs");
  arguments.resume.add_to(command, "--resume", "Folder or name of a run to go on with");
  arguments.jobs.add_to(command);
  command.add_flag("--plan", arguments.plan_only, "Only lists the folders of a grid's runs");
  command.add_flag("--quiet", arguments.quiet, "Shows no progress");
  command.add_flag("--join", arguments.join)->group("");
}

}  // namespace sadam::cli
