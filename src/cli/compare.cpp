#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/not_empty.h"
#include "cli/output_width.h"
#include "report/comparison.h"
#include "report/run_summary.h"

namespace sadam::cli {
namespace {

constexpr const char* kCompareHelp =
    "Puts runs side by side: what differs in their recipes, what came of it, and the accuracy after each "
    "epoch.\n\n"
    "  sadam compare runs/adamw runs/sadam\n"
    "  sadam compare adamw sadam                   the same: a run is named by its path or by its name below "
    "--root\n"
    "  sadam compare --by-seed runs/adamw-* runs/sadam-*\n"
    "                                              runs that differ only in the seed become mean ± "
    "deviation\n\n"
    "A field that decides nothing for a run, such as optimizer.probes for AdamW, is shown as – and is no "
    "difference by\n"
    "itself. In CSV and JSON accuracies are in per cent, times in seconds, memory is in bytes; with "
    "--by-seed each "
    "mean has\n"
    "its deviation and the count of the runs it is of. No seed may count twice: two runs of one recipe and "
    "one seed "
    "are\n"
    "refused.";

struct CompareArguments {
  std::vector<std::string> runs;
  std::string root = "runs";
  bool by_seed = false;
  bool csv = false;
  bool json = false;
};

void compare_now(const CompareArguments& arguments) {
  if (arguments.runs.size() < 2)
    throw UsageError("compare needs at least two runs; 'sadam runs' lists those there are.");
  const auto comparison =
      report::compare(report::named_runs(arguments.runs, arguments.root), arguments.by_seed);
  if (arguments.json)
    std::cout << to_json(comparison);
  else if (arguments.csv)
    std::cout << to_csv(comparison);
  else
    std::cout << to_text(comparison, output_width());
  std::cout.flush();
  for (const auto& warning : comparison.warnings) std::cerr << "sadam: " << base::printable(warning) << '\n';
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  auto& command = add_command(app, "compare", kCompareHelp);
  command.add_option("runs", arguments->runs, "Runs, each by its path or by its name below --root")
      ->type_name("RUN");
  add_root_option(command, arguments->root, "Folder in which names are looked up");
  command.add_flag("--by-seed", arguments->by_seed, "Mean ± deviation of runs that differ only in the seed");
  auto* csv = command.add_flag("--csv", arguments->csv, "Comma-separated values, a column a run");
  command.add_flag("--json", arguments->json, "An array with an object for each run")->excludes(csv);
  command.callback([arguments] { compare_now(*arguments); });
}

}  // namespace sadam::cli
