#include <sadam/error.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/display_width.h"
#include "cli/command.h"
#include "cli/commands.h"
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
    "--where and --sort take a column (name, state, data, model, optimizer, seed, epochs, best, last, brake, "
    "time,\n"
    "steps, best_epoch, test_loss, lgi, step_time, evaluate_time, memory, folder) or a recipe field such as\n"
    "optimizer.probes. Accuracies are in per cent, times in seconds without evaluation, memory is in bytes.";

struct RunsArguments {
  report::RunQuery query;
  bool csv = false;
  bool json = false;
};

void list_now(const RunsArguments& arguments) {
  const auto list = report::list_runs(arguments.query);
  const auto root = arguments.query.root.string();
  if (arguments.json)
    std::cout << to_json(list.full);
  else if (arguments.csv)
    std::cout << to_csv(list.full);
  else if (!list.full.rows.empty())
    std::cout << to_text(list.brief);
  else if (list.found == 0)
    std::cerr << fmt::format("There are no runs below {}; 'sadam train' makes one.\n", root);
  else
    std::cerr << fmt::format("Below {} there are {} runs, and none matches.\n", root, list.found);

  std::cout.flush();
  for (const auto& problem : list.problems) std::cerr << "sadam: " << base::printable(problem) << '\n';
  if (list.damaged > 0)
    throw Error(fmt::format("{} of {} runs below {} cannot be read; the reasons are above.", list.damaged,
                            list.found, root));
}

}  // namespace

void add_runs(CLI::App& app) {
  auto arguments = std::make_shared<RunsArguments>();
  auto& command = add_command(app, "runs", kRunsHelp);
  auto& query = arguments->query;
  command.add_option("--root", query.root, "Folder of the runs")->capture_default_str()->type_name("FOLDER");
  command.add_option("--where", query.where, "Only runs of which this holds; may be given several times")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  command.add_option("--sort", query.sort, "Smallest first; runs without a value last")->type_name("FIELD");
  command.add_flag("--reverse", query.reverse, "Largest first");
  auto* csv =
      command.add_flag("--csv", arguments->csv, "Comma-separated values, for spreadsheets and data frames");
  command.add_flag("--json", arguments->json, "An array of objects, for programs")->excludes(csv);
  command.callback([arguments] { list_now(*arguments); });
}

}  // namespace sadam::cli
