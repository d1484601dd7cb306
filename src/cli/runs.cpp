#include <sadam/error.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/quantities.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "report/run_list.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

// {}: the columns that hold results.
constexpr const char* kRunsHelp = R"(Lists runs: what they were told, how far they came, how well they did.

  sadam runs
  sadam runs --where optimizer.name=sadam --where data.name=cifar100
  sadam runs --where state=stopped --sort best --reverse
  sadam runs --watch
      again every two seconds, until Ctrl-C
  sadam runs --csv > runs.csv
      every result and every field of the recipe

Where the terminal is narrow, columns that tell less are left out. 'accuracy'
is the test accuracy by epoch, from its lowest to its highest.

The state of a run:
  finished   its last epoch is done
  running    a process is working on it
  stopped    'sadam train --resume' goes on with it
  stuck      its results are whole, but 'sadam train --resume' refuses it
  damaged    its recipe or its events are not whole
  unknown    its recipe says something that this version does not know

--where and --sort take a field of the recipe, such as optimizer.probes
('sadam info recipe' lists them), or a column:
  {}
The columns optimizer and model hold short descriptions, such as 'sadam k=2'.
For all runs of S-Adam, ask for optimizer.name=sadam.

Some columns are shown only where they are not 0: skipped (steps without a
finite loss or gradient), bad probes, and in noise (steps whose probes differ
by no more than rounding). S-Adam and its controls have a brake, others none.
Accuracies are in per cent. Times are in seconds, without evaluation. Memory is
in bytes.)";

constexpr std::string_view kHome = "\033[H";  // the upper left corner

struct RunsArguments {
  report::RunQuery query;
  const CLI::Option* root_option = nullptr;
  Format format;
  bool watch = false;
};

// A folder that was asked for by name and is not there was misspelt; before the first run there is no `runs`.
void check_is_there(const RunsArguments& arguments) {
  const auto& root = arguments.query.root;
  check_root(root);
  if (arguments.root_option->count() > 0 && !std::filesystem::exists(root))
    throw Error(fmt::format("there is no folder {}: correct --root.", root.string()));
}

// What did not fit, in a line: "Not shown: model (qatnet 2-bit), seed."
std::string left_out(const report::TextTable& all, const report::TextTable& shown) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    const auto& column = all.columns[i];
    if (std::any_of(shown.columns.begin(), shown.columns.end(),
                    [&](const auto& kept) { return kept.key == column.key; }))
      continue;
    parts.push_back(report::is_constant(all, i)
                        ? fmt::format("{} ({})", column.title, base::printable(all.rows[0][i].text))
                        : column.title);
  }
  const auto is_cut = [&](std::size_t row) { return all.rows[row][0].text != shown.rows[row][0].text; };
  for (std::size_t row = 0; row < all.rows.size(); ++row)
    if (is_cut(row)) {
      parts.emplace_back("the middle of long names");
      break;
    }
  return parts.empty() ? "" : fmt::format("Not shown: {}. --csv has everything.", fmt::join(parts, ", "));
}

void print_table(const report::RunList& list) {
  const auto width = output_width();
  const auto table = narrowed(list.brief, width);
  std::cout << to_text(table, width, base::has_colour(stdout));
  for (const auto& sentence : list.irregularities)
    std::cout << '\n' << report::wrapped(base::printable(sentence), width) << '\n';
  if (const auto sentence = left_out(list.brief, table); !sentence.empty())
    std::cout << '\n' << report::wrapped(sentence, width) << '\n';
}

// As many as fit the screen; those that are being trained stand last, and are always among them.
void watch_now(const RunsArguments& arguments) {
  if (!base::is_live(stdout))
    throw UsageError("--watch redraws a terminal, and the output goes elsewhere: leave it out.");
  const StopSignal stop;
  constexpr int kTenthsBetween = 20;
  while (!StopSignal::flag()) {
    auto list = report::list_runs(arguments.query);
    auto& rows = list.brief.rows;
    const auto room = std::max<std::size_t>(base::terminal_rows(stdout), 8) - 5;
    const auto hidden = rows.size() - std::min(rows.size(), room);
    const auto state = std::find_if(list.brief.columns.begin(), list.brief.columns.end(),
                                    [](const auto& column) { return column.key == "state"; }) -
                       list.brief.columns.begin();
    std::stable_partition(rows.begin(), rows.end(), [&](const auto& row) {
      return row[static_cast<std::size_t>(state)].text != "running";
    });
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(hidden));
    const auto width = output_width();
    std::cout << kHome << base::kClearBelow
              << to_text(narrowed(list.brief, width), width, base::has_colour(stdout));
    if (list.full.rows.empty())
      std::cout << fmt::format("No runs below {} yet.\n", arguments.query.root.string());
    if (hidden > 0) std::cout << fmt::format("{} more are not shown.\n", hidden);
    std::cout << "Ctrl-C ends this.\n" << std::flush;
    for (int i = 0; i < kTenthsBetween && !StopSignal::flag(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void list_now(const RunsArguments& arguments) {
  check_is_there(arguments);
  if (arguments.watch) return watch_now(arguments);
  const auto list = report::list_runs(arguments.query);
  const auto root = arguments.query.root.string();
  if (arguments.format.is_for_programs())
    std::cout << arguments.format.text_of(list.full);
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
  if (list.unread > 0)
    throw Error(fmt::format("{} of {} below {} cannot be read; the reasons are above.", list.unread,
                            base::counted(list.found, "run"), root));
}

}  // namespace

void add_runs(CLI::App& app) {
  const auto columns =
      report::wrapped(fmt::format("{}", fmt::join(report::result_columns(), ", ")), 78, "  ");
  const auto [command, arguments] =
      add_command<RunsArguments>(app, "runs", fmt::format(fmt::runtime(kRunsHelp), columns), list_now);
  auto& query = arguments.query;
  arguments.root_option = add_root_option(command, query.root, "Folder of the runs");
  command.add_option("--where", query.where, "Only runs with this value; may be given several times")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  command.add_option("--sort", query.sort, "Smallest first; runs without a value last")->type_name("FIELD");
  command.add_flag("--reverse", query.reverse, "Largest first");
  arguments.format.add_to(command, "Comma-separated values, for spreadsheets and data frames",
                          "An array of objects, for programs");
  command.add_flag("--watch", arguments.watch, "Shows them again every two seconds, until Ctrl-C")
      ->excludes("--csv")
      ->excludes("--json");
}

}  // namespace sadam::cli
