#include <fmt/format.h>
#include <sadam/error.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/quantities.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "page/page.h"
#include "page/shelf.h"
#include "report/comparison.h"
#include "report/picture.h"
#include "report/run_summary.h"
#include "reproduce/figures.h"

namespace sadam::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportHelp =
    R"(Writes runs as one page that a browser opens from the disk: the paper's tables
beside ours, curves, what the probes saw, S-Adam against its controls, recipes,
and everything that differs from the paper. It needs no network and no server.

  sadam report
      all runs below runs/, in report.html
  sadam report table1 -o table1.html
  sadam report first second other/folder
  sadam report table1 --figures paper
      for a paper: curves of accuracy and loss in paper/, as SVG and PDF, with
      their numbers as CSV; without the page, unless -o asks for it

A run is given by its folder or by its name below --root; a folder of runs
stands for all of them. Pictures and CSV files in these folders are shown as
well: those of 'sadam landscape', 'audit', 'theory' and 'reproduce'.

Long runs are drawn from at most 2000 buckets of steps, each with its mean, its
smallest and its largest value, so that no peak is lost.

'sadam serve' shows the same page while runs are trained.)";

struct ReportArguments {
  std::vector<std::string> runs;
  fs::path root = "runs";
  std::optional<std::string> output;  ///< none: report.html, or no page where figures are asked for
  std::string figures;
};

// What was asked for: runs, and folders of them.
struct Wanted {
  std::vector<page::FoundRun> runs;
  std::vector<fs::path> folders;
};

// By what it is called below the root, or else as it was given.
std::string id_of(const fs::path& folder, const fs::path& root) {
  const auto plain = [](const fs::path& path) {
    const auto normal = path.lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();  // without a slash at its end
  };
  const auto below = plain(fs::absolute(folder)).lexically_relative(plain(fs::absolute(root)));
  const bool is_below = !below.empty() && below != "." && *below.begin() != "..";
  return (is_below ? below : plain(folder)).string();
}

Wanted wanted_by(const ReportArguments& arguments) {
  Wanted wanted;
  std::set<std::string> ids;
  const auto add = [&](const train::RunPaths& paths) {
    const auto id = id_of(paths.folder, arguments.root);
    if (ids.insert(id).second) wanted.runs.push_back({paths, id});
  };
  const auto add_folder = [&](const fs::path& folder) {
    const auto runs = train::find_runs(folder);
    for (const auto& paths : runs) add(paths);
    wanted.folders.push_back(folder);
    return !runs.empty();
  };
  if (arguments.runs.empty()) add_folder(arguments.root);
  for (const auto& name : arguments.runs) {
    if (const auto run = train::find_run_if(name, arguments.root)) {
      add(*run);
      continue;
    }
    bool found = false;
    for (const auto& folder : {fs::path(name), arguments.root / name}) {
      std::error_code unreadable;
      found = found || (fs::is_directory(folder, unreadable) && add_folder(folder));
    }
    if (!found) train::find_run(name, arguments.root);  // says what is wrong
  }
  return wanted;
}

// The figures of the tables that the runs are of, and one of the runs that are of none.
void write_figures(const Wanted& wanted, const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem)
    throw Error(fmt::format("{} cannot be made: {}; name another folder with --figures.", folder.string(),
                            problem.message()));
  std::vector<report::RunSummary> runs;
  std::vector<std::string> left_out;
  for (const auto& found : wanted.runs) {
    auto run = report::summarise(found.paths, found.id);
    if (report::is_unread(run.state))
      left_out.push_back(fmt::format("{} is left out: {}", run.name, run.problem));
    else if (run.epochs.empty())
      left_out.push_back(fmt::format("{} is left out: it has not finished an epoch.", run.name));
    else
      runs.push_back(std::move(run));
  }
  std::vector<const report::RunSummary*> all;
  for (const auto& run : runs) all.push_back(&run);
  std::set<fs::path> drawn;
  std::vector<std::string> names;
  for (const auto& figure : reproduce::figures_of(all)) {
    for (const auto& run : *figure.plan.recorded) drawn.insert(run.folder);
    write_figure(figure, read_groups(figure.plan), folder);
    names.push_back(figure.name);
  }
  std::erase_if(runs, [&](const report::RunSummary& run) {
    return drawn.count(fs::absolute(run.folder).lexically_normal()) > 0;
  });
  if (!runs.empty()) {
    const auto comparison = report::compare_by_seed_if_possible(std::move(runs));
    base::write_file_atomically(folder / "runs.csv", to_csv(comparison));
    const auto picture = to_picture(comparison);
    write_picture(folder / "runs.svg", picture);
    if (report::draws_pdf()) write_picture(folder / "runs.pdf", picture);
    names.emplace_back("runs");
  }
  for (const auto& sentence : left_out) std::cerr << fmt::format("sadam: {}\n", base::printable(sentence));
  if (names.empty()) throw Error("there is nothing to draw: no run has finished an epoch.");
  std::cout << fmt::format("{} in {}, as SVG{}: {}.\n",
                           names.size() == 1 ? "The figure is" : "The figures are", folder.string(),
                           report::draws_pdf() ? " and PDF" : " (PDF needs librsvg)", fmt::join(names, ", "));
}

void write_page(const ReportArguments& arguments, const Wanted& wanted, std::string_view html,
                const fs::path& file) {
  page::Shelf shelf({.root = arguments.root.string(),
                     .runs = [&] { return wanted.runs; },
                     .attachments = wanted.folders,
                     .live = false});
  const auto report = shelf.report();
  const auto text = page::page_with(html, page::to_text(report));
  base::write_file_atomically(file, text);
  std::cout << fmt::format("The report of {} is in {} ({}).\n", base::counted(wanted.runs.size(), "run"),
                           file.string(), base::memory(static_cast<std::int64_t>(text.size())));
  std::size_t unread = 0;
  for (const auto& run : report["runs"])
    if (const std::string state = run["state"]; state == "damaged" || state == "unknown") ++unread;
  if (unread > 0)
    std::cerr << fmt::format("sadam: {} cannot be read in full: the page says why.\n",
                             base::counted(unread, "run"));
}

void write_report(const ReportArguments& arguments) {
  const bool with_page = arguments.output || arguments.figures.empty();
  const auto html = with_page ? page::page_or_refusal() : "";
  const auto file = with_page ? output_target(arguments.output.value_or("report.html"), "-o") : fs::path();
  check_root(arguments.root);
  const auto wanted = wanted_by(arguments);
  if (wanted.runs.empty())
    throw Error(fmt::format("there are no runs below {}; 'sadam train' makes one.", arguments.root.string()));
  if (with_page) write_page(arguments, wanted, html, file);
  if (!arguments.figures.empty()) write_figures(wanted, arguments.figures);
}

}  // namespace

void add_report(CLI::App& app) {
  const auto [command, arguments] = add_command<ReportArguments>(app, "report", kReportHelp, write_report);
  not_empty(
      command.add_option("runs", arguments.runs, "Runs, and folders of runs; without: all below --root")
          ->type_name("RUN"),
      "give the folder of a run, or its name below --root");
  add_output_option(command, "-o,--output", arguments.output, "The page to write; report.html by default",
                    "name a file, or leave it out for report.html");
  not_empty(command.add_option("--figures", arguments.figures, "Folder to put figures for a paper into")
                ->type_name("FOLDER"),
            "name a folder");
  add_root_option(command, arguments.root, "Folder of the runs");
}

}  // namespace sadam::cli
