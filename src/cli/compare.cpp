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

A field that does not matter for a run is shown as –, such as optimizer.probes
for AdamW. It makes no difference between runs. With --by-seed each mean comes
with its deviation and the number of runs. Two runs of one recipe and one seed
are refused, because that seed would count twice. In CSV and JSON, accuracies
are in per cent, times in seconds, memory in bytes.)";

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
  auto* csv = command.add_flag("--csv", arguments->csv, "Comma-separated values, a column a run");
  command.add_flag("--json", arguments->json, "An array with an object for each run")->excludes(csv);
  command.callback([arguments] { compare_now(*arguments); });
}

}  // namespace sadam::cli
