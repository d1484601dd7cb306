#include <sadam/error.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/quantities.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/output_width.h"
#include "cli/run_argument.h"
#include "report/run_list.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr const char* kRunsHelp =
    "Lists runs: what they were told, how far they came, how well they did.\n\n"
    "  sadam runs\n"
    "  sadam runs --where optimizer.name=sadam --where data.name=cifar100 --sort best --reverse\n"
    "  sadam runs --where state=stopped\n"
    "  sadam runs --csv > runs.csv                 every result and every recipe field\n\n"
    "A run is finished (its last epoch is done), running (a process has it), stopped (go on with 'sadam "
    "train\n"
    "--resume') or damaged (its recipe or its events are not whole).\n\n"
    "--where and --sort take a column (name, state, data, model, optimizer, seed, epochs, best, last, brake, "
    "time,\n"
    "steps, best_epoch, test_loss, lgi, step_time, evaluate_time, memory, skipped, non_finite_probes, "
    "within_noise,\n"
    "folder) or a recipe field such as optimizer.probes ('sadam info recipe' lists them). The columns "
    "optimizer and\n"
    "model hold short descriptions, such as 'sadam k=2': all runs of S-Adam are those with "
    "optimizer.name=sadam. The\n"
    "columns skipped (steps without a finite loss or gradient), bad probes and in noise (steps whose probes "
    "drowned\n"
    "in rounding) are shown where they are not 0. The brake is that of S-Adam and of controls; others have "
    "none.\n"
    "Accuracies are in per cent, times in seconds without evaluation, memory is in bytes.";

struct RunsArguments {
  report::RunQuery query;
  bool root_given = false;
  bool csv = false;
  bool json = false;
};

// A folder that was asked for by name and is not there was misspelt; before the first run there is no `runs`.
void check_is_there(const RunsArguments& arguments) {
  const auto& root = arguments.query.root;
  check_root(root);
  if (arguments.root_given && !std::filesystem::exists(root))
    throw Error("there is no folder " + root.string() + ": correct --root.");
}

void print_table(const report::RunList& list) {
  const auto width = output_width();
  std::cout << to_text(list.brief, width);
  for (const auto& sentence : list.irregularities)
    std::cout << '\n' << report::wrapped(base::printable(sentence), width) << '\n';
}

void list_now(const RunsArguments& arguments) {
  check_is_there(arguments);
  const auto list = report::list_runs(arguments.query);
  const auto root = arguments.query.root.string();
  if (arguments.json)
    std::cout << to_json(list.full);
  else if (arguments.csv)
    std::cout << to_csv(list.full);
  else if (!list.full.rows.empty())
    print_table(list);
  else if (list.found == 0)
    std::cerr << fmt::format("There are no runs below {}; 'sadam train' makes one.\n", root);
  else
    std::cerr << fmt::format("Below {} there {} {}, and none matches{}{}.\n", root,
                             list.found == 1 ? "is" : "are", base::counted(list.found, "run"),
                             list.unmet.empty() ? "" : ": ",
                             base::printable(fmt::format("{}", fmt::join(list.unmet, "; "))));

  std::cout.flush();
  for (const auto& problem : list.problems) std::cerr << "sadam: " << base::printable(problem) << '\n';
  if (list.damaged > 0)
    throw Error(fmt::format("{} of {} below {} {} damaged; the reasons are above.", list.damaged,
                            base::counted(list.found, "run"), root, list.damaged == 1 ? "is" : "are"));
}

}  // namespace

void add_runs(CLI::App& app) {
  auto arguments = std::make_shared<RunsArguments>();
  auto& command = add_command(app, "runs", kRunsHelp);
  auto& query = arguments->query;
  const auto* const root = add_root_option(command, query.root, "Folder of the runs");
  command.add_option("--where", query.where, "Only runs of which this holds; may be given several times")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  command.add_option("--sort", query.sort, "Smallest first; runs without a value last")->type_name("FIELD");
  command.add_flag("--reverse", query.reverse, "Largest first");
  auto* csv =
      command.add_flag("--csv", arguments->csv, "Comma-separated values, for spreadsheets and data frames");
  command.add_flag("--json", arguments->json, "An array of objects, for programs")->excludes(csv);
  command.callback([arguments, root] {
    arguments->root_given = root->count() > 0;
    list_now(*arguments);
  });
}

}  // namespace sadam::cli
