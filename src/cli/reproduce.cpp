#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/usage_error.h"
#include "cli/reproduce.h"
#include "report/run_list.h"
#include "reproduce/execute.h"
#include "reproduce/plan.h"
#include "reproduce/render.h"
#include "reproduce/results.h"

namespace sadam::cli {
namespace {

constexpr const char* kReproduceHelp =
    R"(Reruns a table of the paper. It trains what is missing, resumes what was
stopped, and prints the paper's numbers beside ours, with controls that the
paper lacks. Run it again to see the table: nothing is trained twice.

  sadam reproduce table1 --quick
      small, on built-in data, in a minute or two
  sadam reproduce table1 --only cifar100
      one column
  sadam reproduce table1 --only cifar100/adamw --seeds 1-3 --epochs 5
  sadam reproduce curves --only quantization
      pictures of the runs of table1
  sadam reproduce figures
      the paper's Figures 1 to 3, in a second
  sadam reproduce table1 -j 4
      four runs at once
  sadam reproduce my-table.toml
      a table of your own; see docs/tables.md

  table1   quantization-aware training
  table2   its ablation
  table3   ResNet-18 at batch size 2
  table4   ResNet-18 at batch sizes 4, 16 and 64
  table5   learning rates
  learning-rates  ours: what a wrong rate costs, constant and cosine
  rivals   ours: SAM, AdaBound, averages and others, at equal epochs and time
  rivals-settings  ours: the same with other radii and rates
  adabound-check  ours: AdaBound with cosine, on fresh seeds
  adabound-rates  ours: the same at five rates, and in 4 bits
  held-control  ours: is a held brake more than a schedule?
  brakes   ours: the search for a better brake
  part-of-batch  ours: probes on a quarter of the batch
  final-check  ours: what brakes found, on fresh seeds
  step-control  ours: is the step probe more than a smaller rate?
  unknown-end  ours: what helps who cannot say when a run will end
  tiny-batches  ours: a small Table 3, with cosine and smaller rates
  curves   accuracy and loss by epoch
  figures  Figures 1 to 3: paths on a function with kinks, Clarke's
           subdifferential (figure1, figure1-valley, figure2, figure3)

Every S-Adam row gets three controls, with the same seeds:
  matched    AdamW, each step multiplied by the mean brake of the S-Adam run
  shuffled   AdamW with the brakes of that run in random order
  cosine     AdamW with a learning rate that falls to zero
A fourth is made where --controls names it (--controls matched,replayed):
  replayed   AdamW with the brakes of another seed's run, step by step: is the
             brake a schedule, or an answer to what happens?
With two seeds or more, the differences seed by seed and their 95 % intervals
follow the table.)";

void print(const reproduce::Plan& plan, const ReproduceArguments& arguments,
           const std::map<std::size_t, std::string>& unavailable) {
  if (arguments.format.is_for_programs()) {
    std::cout << arguments.format.text_of(to_flat(plan)) << std::flush;
    for (const auto& [column, why] : unavailable)
      std::cerr << fmt::format("{} is left out: {}\n", plan.table.columns[column].title, why);
  } else {
    std::cout << '\n'
              << to_report(plan, unavailable, {.markdown = arguments.markdown, .width = output_width()});
  }
}

reproduce::Plan recorded_plan(const ReproduceArguments& arguments) {
  auto request = arguments.full_request();
  const auto table = reproduce::find_table(arguments.table);
  auto runs = recorded_runs(arguments, request, table.name + variant_of(request) + '/');
  return with_recorded(make_plan(table, request), std::move(runs), request.root);
}

void reproduce_table(const ReproduceArguments& arguments) {
  if (!arguments.from_csv.empty()) return print(recorded_plan(arguments), arguments, {});
  const auto plan = make_plan(reproduce::find_table(arguments.table), arguments.full_request());
  if (arguments.plan_only) {
    check_runs(plan);
    for (const auto& run : plan.runs) std::cout << run.folder.string() << '\n';
    return;
  }
  if (arguments.show) {
    check_same_recipes(plan, reproduce::Purpose::show);
    if (render(plan).empty())
      throw Error(
          fmt::format("there are no runs of {} in {} yet: leave out --show to make them, or give the options "
                      "that they were made with (--quick, --epochs, --set).",
                      arguments.table, arguments.request.root.string()));
    return print(plan, arguments, {});
  }
  check_not_launched("'sadam reproduce'");
  const StopSignal stop;
  ProgressOutput output(arguments.quiet || arguments.jobs.is_worker());
  const auto execution = execute(plan, output.options(arguments.jobs));
  if (arguments.jobs.is_worker()) return conclude(execution, arguments.jobs);
  if (execution.unavailable.size() == plan.table.columns.size())
    throw Error(fmt::format("nothing could be run: {}", execution.unavailable.begin()->second));
  print(plan, arguments, execution.unavailable);
  if (const auto sentence = about_elsewhere(execution); !sentence.empty()) {
    std::cout.flush();
    std::cerr << '\n' << sentence << '\n';
  }
  conclude(execution, arguments.jobs);
}

void reproduce_now(const ReproduceArguments& arguments) {
  if (arguments.request.baseline && (arguments.table == "curves" || arguments.table == "figures"))
    throw UsageError(fmt::format("--baseline {}: {} are compared with none: leave it out.",
                                 *arguments.request.baseline, arguments.table));
  if (arguments.table == "curves") return reproduce_curves(arguments);
  if (arguments.table == "figures") return reproduce_figures(arguments);
  reproduce_table(arguments);
}

}  // namespace

std::vector<report::RunSummary> recorded_runs(const ReproduceArguments& arguments,
                                              reproduce::Request& request, const std::string& folder) {
  std::vector<report::RunSummary> runs;
  std::set<std::int64_t> seeds;
  for (const auto& file : arguments.from_csv)
    for (auto& run : report::read_runs_csv(file)) {
      if (run.recipe && run.name.starts_with(folder)) seeds.insert(run.recipe->seed);
      runs.push_back(std::move(run));
    }
  if (request.seeds.empty()) request.seeds.assign(seeds.begin(), seeds.end());
  return runs;
}

std::string about_elsewhere(const reproduce::Execution& execution) {
  if (execution.elsewhere.empty()) return "";
  return fmt::format(
      "Another process is working on what is still missing ({}): the same command shows it when that has "
      "ended.",
      fmt::join(execution.elsewhere, "; "));
}

void conclude(const reproduce::Execution& execution, const JobOptions& jobs) {
  if (execution.stopped)
    throw Interrupted{jobs.is_worker() ? "" : "Stopped and saved; the same command goes on."};
  const auto& failures = execution.failures;
  if (failures.empty()) return;
  const auto others = failures.size() == 1 ? "" : fmt::format(" (and {} more, above)", failures.size() - 1);
  throw Error(fmt::format("{}{}", failures.front(), others));
}

void add_reproduce(CLI::App& app) {
  const auto [command, arguments] =
      add_command<ReproduceArguments>(app, "reproduce", kReproduceHelp, reproduce_now);
  auto& request = arguments.request;
  command.add_option("table", arguments.table, "One of the tables and figures listed below, or a TOML file")
      ->required();
  command.add_flag("--quick", request.quick,
                   "A small version: the paper's on built-in data, others as [table.quick] says");
  add_list_option(command, "--only", request.only,
                  "Columns, rows, or column/row (curves: also figures), separated by commas")
      ->type_name("TEXT");
  command.add_option("--seeds", arguments.seeds, "Seeds and ranges of them, separated by commas: 1-3,7")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command
      .add_option("--baseline", request.baseline,
                  "Takes all differences, and convergence, from this row instead of the table's baselines")
      ->type_name("ROW");
  command.add_option("--epochs", arguments.epochs, "Epochs instead of the paper's")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("COUNT");
  add_set_option(
      command, request.set,
      "Changes a field of every run, such as data.root=/big/data; fields that the table sets stay");
  add_device_options(command, request.set);
  add_processes_option(command, request.set);
  arguments.jobs.add_to(command);
  auto* const none = command.add_flag("--no-controls", arguments.no_controls, "Leaves the controls out");
  add_list_option(command, "--controls", arguments.controls, "Only these controls, such as matched,cosine")
      ->excludes(none);
  add_root_option(command, request.root, "Folder of the runs");
  auto* const plan = command.add_flag("--plan", arguments.plan_only, "Only lists the folders of the runs");
  auto* const show = command.add_flag("--show", arguments.show, "Trains nothing: shows what is there");
  add_list_option(command, "--from-csv", arguments.from_csv,
                  "Trains nothing: shows the runs that 'sadam runs --csv' wrote to these files")
      ->type_name("FILE")
      ->excludes(plan)
      ->excludes(show);
  arguments.format.add_to(command, "For other programs: comma-separated values, a row for each method",
                          "For other programs: an array of objects");
  command.add_flag("--markdown", arguments.markdown, "For a document")->excludes("--csv")->excludes("--json");
  command.add_flag("--quiet", arguments.quiet, "Shows no progress: only the table and what went wrong");
}

}  // namespace sadam::cli
