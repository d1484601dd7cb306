#include <sadam/error.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/quantities.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "report/run_list.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr const char* kRunsHelp = R"(Lists runs: what they were told, how far they came, how well they did.

  sadam runs
  sadam runs --where optimizer.name=sadam --where data.name=cifar100
  sadam runs --where state=stopped --sort best --reverse
  sadam runs --csv > runs.csv
      every result and every field of the recipe

The state of a run:
  finished   its last epoch is done
  running    a process is working on it
  stopped    'sadam train --resume' goes on with it
  stuck      its results are whole, but 'sadam train --resume' refuses it
  damaged    its recipe or its events are not whole

--where and --sort take a field of the recipe, such as optimizer.probes
('sadam info recipe' lists them), or a column:
  name, state, data, model, optimizer, seed, epochs, best, last, brake, time,
  steps, best_epoch, test_loss, lgi, step_time, evaluate_time, memory, skipped,
  non_finite_probes, within_noise, folder
The columns optimizer and model hold short descriptions, such as 'sadam k=2'.
For all runs of S-Adam, ask for optimizer.name=sadam.

Some columns are shown only where they are not 0: skipped (steps without a
finite loss or gradient), bad probes, and in noise (steps whose probes differ
by no more than rounding). S-Adam and its controls have a brake, others none.
Accuracies are in per cent. Times are in seconds, without evaluation. Memory is
in bytes.)";

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
    throw Error(fmt::format("there is no folder {}: correct --root.", root.string()));
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
  for (const auto& problem : list.problems) std::cerr << fmt::format("sadam: {}\n", base::printable(problem));
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
  command.add_option("--where", query.where, "Only runs with this value; may be given several times")
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
