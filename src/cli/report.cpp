#include <fmt/format.h>
#include <sadam/error.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/quantities.h"
#include "base/usage_error.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "page/page.h"
#include "page/shelf.h"

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

A run is given by its folder or by its name below --root; a folder of runs
stands for all of them. Pictures and CSV files in these folders are shown as
well: those of 'sadam landscape', 'audit', 'theory' and 'reproduce'.

Long runs are drawn from at most 2000 buckets of steps, each with its mean, its
smallest and its largest value, so that no peak is lost.

'sadam serve' shows the same page while runs are trained.)";

struct ReportArguments {
  std::vector<std::string> runs;
  fs::path root = "runs";
  std::string output = "report.html";
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

void write_report(const ReportArguments& arguments) {
  const auto html = page::page_or_refusal();
  const auto file = output_target(arguments.output, "-o");
  check_root(arguments.root);
  const auto wanted = wanted_by(arguments);
  if (wanted.runs.empty())
    throw Error(fmt::format("there are no runs below {}; 'sadam train' makes one.", arguments.root.string()));
  page::Shelf shelf({.root = arguments.root.string(),
                     .runs = [&] { return wanted.runs; },
                     .attachments = wanted.folders,
                     .live = false});
  const auto text = page::page_with(html, page::to_text(shelf.report()));
  base::write_file_atomically(file, text);
  std::cout << fmt::format("The report of {} is in {} ({}).\n", base::counted(wanted.runs.size(), "run"),
                           file.string(), base::memory(static_cast<std::int64_t>(text.size())));
}

}  // namespace

void add_report(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  auto& command = add_command(app, "report", kReportHelp);
  not_empty(
      command.add_option("runs", arguments->runs, "Runs, and folders of runs; without: all below --root")
          ->type_name("RUN"),
      "give the folder of a run, or its name below --root");
  not_empty(command.add_option("-o,--output", arguments->output, "The file to write")
                ->capture_default_str()
                ->type_name("FILE"),
            "name a file, or leave it out for report.html");
  add_root_option(command, arguments->root, "Folder of the runs");
  command.callback([arguments] { write_report(*arguments); });
}

}  // namespace sadam::cli
