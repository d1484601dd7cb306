#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "report/comparison.h"
#include "report/picture.h"
#include "report/recipe_values.h"
#include "report/run_summary.h"
#include "train/record/run_folder.h"

namespace sadam::cli {
namespace {

constexpr const char* kCompareHelp =
    R"(Puts runs side by side: how their recipes differ, what came of it, and the
accuracy after each epoch.

  sadam compare adamw sadam
      two runs, each by its name below --root or by its folder
  sadam compare runs/grid
      all runs in a folder: a row for each recipe, with the mean over its seeds
      and the difference to the first row, seed by seed
  sadam compare runs/grid --baseline lr=1e-3 --svg grid.svg
      differences to that row; curves of test accuracy and training loss
  sadam compare --by-seed runs/adamw-* runs/sadam-*
      runs that differ only in the seed become mean ± deviation
  sadam compare --generalisation
      over all runs below --root: do unstable runs generalise worse? The rank
      correlation of ρ, brake and chattering with test less training loss

Up to four runs are columns. More of them, those of a folder, and those with a
--baseline are rows, and become means over the seeds where no seed comes twice;
--columns shows them as columns, with all results.
A field that does not matter for a run is shown as –, such as optimizer.probes
for AdamW. It makes no difference between runs. With --by-seed each mean comes
with its deviation and the number of runs. Two runs of one recipe and one seed
are refused, because that seed would count twice. In CSV and JSON, accuracies
are in per cent, times in seconds, memory in bytes.)";

struct CompareArguments {
  std::vector<std::string> runs;
  std::string root = "runs";
  std::string baseline;
  std::string svg;
  std::string png;
  bool by_seed = false;
  bool columns = false;
  bool generalisation = false;
  Format format;
};

std::vector<report::RunSummary> readable_runs(const std::string& root) {
  auto runs = report::summarise_all(root);
  std::erase_if(runs, [](const auto& run) { return report::is_unread(run.state); });
  return runs;
}

void correlate_now(const CompareArguments& arguments) {
  if (arguments.by_seed) throw UsageError("--generalisation takes every run by itself: leave out --by-seed.");
  const auto runs = arguments.runs.empty() ? readable_runs(arguments.root)
                                           : report::named_runs(arguments.runs, arguments.root);
  const auto table = report::generalisation(runs);
  if (arguments.format.is_for_programs())
    std::cout << arguments.format.text_of(table);
  else
    std::cout << report::to_text(table, output_width())
              << "\nThe gap is test loss less training loss in the last epoch. The interval holds\n"
                 "the true correlation in 95 of 100 cases, if the runs are independent of each\n"
                 "other.\n";
}

struct Chosen {
  std::vector<report::RunSummary> runs;
  std::vector<std::string> left_out;  ///< sentences on runs in folders that cannot be read
  bool has_folder = false;
};

// To be sorted by; runs that differ only in the seed stand together.
std::vector<report::Value> values_of(const train::Recipe& recipe) {
  std::vector<report::Value> values;
  for (const auto& [name, cell] : report::recipe_values(recipe))
    if (name != "seed" && name != "title") values.push_back(cell.value);
  values.emplace_back(recipe.seed);
  return values;
}

Chosen choose(const CompareArguments& arguments) {
  Chosen chosen;
  std::vector<std::string> names;  // every run by its own name, as long as there is no folder
  for (const auto& name : arguments.runs) {
    const auto folder = folder_of_runs(name, arguments.root);
    if (!folder) {
      names.push_back(name);
      continue;
    }
    chosen.has_folder = true;
    auto runs = report::summarise_all(*folder);
    std::erase_if(runs, [&](const report::RunSummary& run) {
      if (!report::is_unread(run.state)) return false;
      chosen.left_out.push_back(fmt::format("{} is left out: {}", run.name, run.problem));
      return true;
    });
    // By their values: 1e-4, 1e-3, 0.01, which is not the order of their names.
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
      return values_of(a.recipe.value()) < values_of(b.recipe.value());
    });
    const auto prefix = arguments.runs.size() == 1 ? "" : fmt::format("{}/", folder->filename().string());
    for (auto& run : runs) {
      run.name = prefix + run.name;
      chosen.runs.push_back(std::move(run));
    }
  }
  for (auto& run : report::named_runs(names, arguments.root)) chosen.runs.push_back(std::move(run));
  report::check_given_once(chosen.runs);
  return chosen;
}

constexpr std::size_t kMostColumns = 4;

// Means over the seeds where they are asked for, and where many runs are easier to read so.
report::Comparison comparison_of(const CompareArguments& arguments, const Chosen& chosen, bool are_rows) {
  if (arguments.by_seed || !are_rows)
    return report::compare(chosen.runs, arguments.by_seed, arguments.baseline);
  return report::compare_by_seed_if_possible(chosen.runs, arguments.baseline);
}

void check_pictures(const CompareArguments& arguments) {
  const auto check = [](const std::string& name, const char* option, const char* end) {
    if (name.empty()) return;
    if (std::filesystem::path(name).extension() != end)
      throw UsageError(fmt::format("{} {}: let the name end in {}.", option, base::in_quotes(name), end));
    report::check_picture_file(name);
    output_target(name, option);
  };
  check(arguments.svg, "--svg", ".svg");
  check(arguments.png, "--png", ".png");
}

void compare_now(const CompareArguments& arguments) {
  if (arguments.generalisation) return correlate_now(arguments);
  check_pictures(arguments);
  const auto chosen = choose(arguments);
  if (chosen.runs.size() < 2)
    throw UsageError("compare needs at least two runs; 'sadam runs' lists those there are.");
  const bool wants_rows =
      chosen.has_folder || chosen.runs.size() > kMostColumns || !arguments.baseline.empty();
  const auto comparison = comparison_of(arguments, chosen, wants_rows);
  const bool are_rows =
      !arguments.columns && (chosen.has_folder || !arguments.baseline.empty() ||
                             comparison.entrants.size() > kMostColumns || (wants_rows && !arguments.by_seed));
  std::cout << (arguments.format.is_for_programs() ? arguments.format.text_of(comparison)
                : are_rows                         ? to_text_rows(comparison, output_width())
                                                   : to_text(comparison, output_width()));
  std::cout.flush();
  for (const auto& picture : {arguments.svg, arguments.png})
    if (!picture.empty()) write_picture(picture, to_picture(comparison));
  for (const auto* sentences : {&chosen.left_out, &comparison.warnings})
    for (const auto& sentence : *sentences)
      std::cerr << fmt::format("sadam: {}\n", base::printable(sentence));
}

}  // namespace

void add_compare(CLI::App& app) {
  const auto [command, arguments] = add_command<CompareArguments>(app, "compare", kCompareHelp, compare_now);
  command
      .add_option("runs", arguments.runs,
                  "Runs, and folders of runs, each by its path or by its name below --root")
      ->type_name("RUN");
  add_root_option(command, arguments.root, "Folder in which names are looked up");
  command.add_flag("--by-seed", arguments.by_seed, "Mean ± deviation of runs that differ only in the seed");
  command.add_flag("--columns", arguments.columns, "A column for each of many runs too, with all results");
  command
      .add_option("--baseline", arguments.baseline,
                  "The row or run that the others are compared with, seed by seed; else the first")
      ->type_name("NAME");
  command.add_option("--svg", arguments.svg, "Draws the curves of all runs into this file")
      ->type_name("FILE");
  command.add_option("--png", arguments.png, "The same as a PNG")->type_name("FILE");
  command.add_flag("--generalisation", arguments.generalisation,
                   "Correlation of instability with the gap between test and training loss");
  arguments.format.add_to(command, "Comma-separated values, a column a run",
                          "An array with an object for each run");
}

}  // namespace sadam::cli
