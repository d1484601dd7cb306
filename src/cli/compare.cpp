#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/command.h"
#include "report/comparison.h"
#include "report/run_summary.h"

namespace sadam::cli {
namespace {

constexpr const char* kCompareHelp =
    R"(Puts runs side by side: how their recipes differ, what came of it, and the
accuracy after each epoch.

  sadam compare adamw sadam
      two runs, each by its name below --root or by its folder
  sadam compare --by-seed runs/adamw-* runs/sadam-*
      runs that differ only in the seed become mean ± deviation
  sadam compare --generalisation
      over all runs below --root: do unstable runs generalise worse? The rank
      correlation of ρ, brake and chattering with test less training loss

A field that does not matter for a run is shown as –, such as optimizer.probes
for AdamW. It makes no difference between runs. With --by-seed each mean comes
with its deviation and the number of runs. Two runs of one recipe and one seed
are refused, because that seed would count twice. In CSV and JSON, accuracies
are in per cent, times in seconds, memory in bytes.)";

struct CompareArguments {
  std::vector<std::string> runs;
  std::string root = "runs";
  bool by_seed = false;
  bool generalisation = false;
  bool csv = false;
  bool json = false;
};

std::vector<report::RunSummary> readable_runs(const std::string& root) {
  auto runs = report::summarise_all(root);
  std::erase_if(runs, [](const auto& run) { return run.state == report::RunState::damaged; });
  return runs;
}

void correlate_now(const CompareArguments& arguments) {
  if (arguments.by_seed) throw UsageError("--generalisation takes every run by itself: leave out --by-seed.");
  const auto runs = arguments.runs.empty() ? readable_runs(arguments.root)
                                           : report::named_runs(arguments.runs, arguments.root);
  const auto table = report::generalisation(runs);
  std::cout << (arguments.json  ? report::to_json(table)
                : arguments.csv ? report::to_csv(table)
                                : report::to_text(table, output_width()));
  if (!arguments.json && !arguments.csv)
    std::cout << "\nThe gap is test loss less training loss in the last epoch. The interval holds\n"
                 "the true correlation in 95 of 100 cases, if the runs are independent of each\n"
                 "other.\n";
}

void compare_now(const CompareArguments& arguments) {
  if (arguments.generalisation) return correlate_now(arguments);
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
  for (const auto& warning : comparison.warnings)
    std::cerr << fmt::format("sadam: {}\n", base::printable(warning));
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  auto& command = add_command(app, "compare", kCompareHelp);
  command.add_option("runs", arguments->runs, "Runs, each by its path or by its name below --root")
      ->type_name("RUN");
  add_root_option(command, arguments->root, "Folder in which names are looked up");
  command.add_flag("--by-seed", arguments->by_seed, "Mean ± deviation of runs that differ only in the seed");
  command.add_flag("--generalisation", arguments->generalisation,
                   "Correlation of instability with the gap between test and training loss");
  auto* csv = command.add_flag("--csv", arguments->csv, "Comma-separated values, a column a run");
  command.add_flag("--json", arguments->json, "An array with an object for each run")->excludes(csv);
  command.callback([arguments] { compare_now(*arguments); });
}

}  // namespace sadam::cli
