#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/usage_error.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/device_options.h"
#include "cli/not_empty.h"
#include "cli/output_width.h"
#include "cli/reproduce.h"
#include "cli/stop_signal.h"
#include "reproduce/execute.h"
#include "reproduce/plan.h"
#include "reproduce/render.h"

namespace sadam::cli {
namespace {

constexpr const char* kReproduceHelp =
    "Redoes a table of the paper: runs what is missing, resumes what was stopped, and prints the paper's "
    "numbers beside\n"
    "ours, with controls that the paper lacks. Run it again to see the table; nothing is trained twice.\n\n"
    "  sadam reproduce table1 --quick                    small, on built-in data, in a minute or two\n"
    "  sadam reproduce table1 --only cifar100            one column\n"
    "  sadam reproduce table1 --only cifar100/adamw --seeds 1-3 --epochs 5\n"
    "  sadam reproduce curves --only quantization        pictures of the runs of table1\n"
    "  sadam reproduce my-table.toml                     a table of your own; see docs/tables.md\n\n"
    "  table1  quantization-aware training               table4  ResNet-18, batches of 4, 16 and 64\n"
    "  table2  its ablation                              table5  learning rates\n"
    "  table3  ResNet-18 at batch size 2                 curves  accuracy and loss by epoch\n\n"
    "Every S-Adam row gets three controls. matched: AdamW, its step multiplied by the mean brake of the "
    "S-Adam run with\n"
    "the same seed. shuffled: AdamW with that run's brakes in random order. cosine: AdamW, its rate falling "
    "to zero.\n"
    "With two seeds or more, differences seed by seed and their standard errors follow the table.";

void print(const reproduce::Plan& plan, const ReproduceArguments& arguments,
           const std::map<std::size_t, std::string>& unavailable) {
  if (arguments.csv || arguments.json) {
    std::cout << (arguments.csv ? to_csv(to_flat(plan)) : to_json(to_flat(plan))) << std::flush;
    for (const auto& [column, why] : unavailable)
      std::cerr << plan.table.columns[column].title << " is left out: " << why << '\n';
  } else {
    std::cout << '\n'
              << to_report(plan, unavailable, {.markdown = arguments.markdown, .width = output_width()});
  }
}

void reproduce_table(const ReproduceArguments& arguments) {
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
          "there are no runs of " + arguments.table + " in " + arguments.request.root.string() +
          " yet: leave out --show to make them, or give the options that they were made with (--quick, "
          "--epochs, --set).");
    return print(plan, arguments, {});
  }
  const StopSignal stop;
  ProgressOutput output(arguments.quiet);
  const auto execution = execute(plan, output.progress, StopSignal::flag(), output.lines);
  if (execution.unavailable.size() == plan.table.columns.size())
    throw Error("nothing could be run: " + execution.unavailable.begin()->second);
  print(plan, arguments, execution.unavailable);
  if (const auto sentence = about_elsewhere(execution); !sentence.empty()) {
    std::cout.flush();
    std::cerr << '\n' << sentence << '\n';
  }
  if (execution.stopped) {
    std::cerr << "Stopped and saved; the same command goes on.\n";
    throw Interrupted();
  }
}

}  // namespace

std::string about_elsewhere(const reproduce::Execution& execution) {
  if (execution.elsewhere.empty()) return "";
  std::string runs;
  for (const auto& run : execution.elsewhere) runs += (runs.empty() ? "" : "; ") + run;
  return "Another process is working on what is still missing (" + runs +
         "): the same command shows it when that has ended.";
}

void add_reproduce(CLI::App& app) {
  auto arguments = std::make_shared<ReproduceArguments>();
  auto& request = arguments->request;
  auto& command = add_command(app, "reproduce", kReproduceHelp);
  command.add_option("table", arguments->table, "table1 to table5, curves, or a TOML file")->required();
  command.add_flag("--quick", request.quick,
                   "A small version: the paper's on built-in data, others as [table.quick] says");
  command
      .add_option("--only", request.only,
                  "Columns, rows, or column/row (curves: also figures), separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--seeds", arguments->seeds, "Seeds and ranges of them, separated by commas: 1-3,7")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command.add_option("--epochs", arguments->epochs, "Epochs instead of the paper's")
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option(
          "--set", request.set,
          "Changes a field of every run, such as data.root=/big/data, but for what rows or columns are about")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  add_device_options(command, request.set);
  command.add_flag("--no-controls", arguments->no_controls, "Leaves the controls out");
  add_root_option(command, request.root, "Folder of the runs");
  command.add_flag("--plan", arguments->plan_only, "Only lists the folders of the runs");
  command.add_flag("--show", arguments->show, "Trains nothing: the table or pictures of what is there");
  auto* const csv = command.add_flag("--csv", arguments->csv, "The table for other programs, a row a method");
  auto* const json =
      command.add_flag("--json", arguments->json, "The same as an array of objects")->excludes(csv);
  command.add_flag("--markdown", arguments->markdown, "The table for a document")
      ->excludes(csv)
      ->excludes(json);
  command.add_flag("--quiet", arguments->quiet, "Shows no progress: only the table, and what went wrong");
  command.callback([arguments] {
    if (arguments->table == "curves")
      reproduce_curves(*arguments);
    else
      reproduce_table(*arguments);
  });
}

}  // namespace sadam::cli
