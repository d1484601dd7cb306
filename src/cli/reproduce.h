// What `sadam reproduce` was told, and where it and the grids of `sadam train` say how far they are. Private
// to their files.
#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "report/run_summary.h"
#include "reproduce/execute.h"
#include "reproduce/plan.h"
#include "reproduce/table_recipe.h"
#include "train/progress.h"

namespace sadam::cli {

struct ReproduceArguments {
  std::string table;
  reproduce::Request request;  ///< all but what stands below
  std::vector<std::string> seeds;
  std::int64_t epochs = 0;
  JobOptions jobs;
  bool no_controls = false;
  std::vector<std::string> controls;
  bool plan_only = false;
  bool show = false;
  std::vector<std::string> from_csv;
  bool quiet = false;
  Format format;
  bool markdown = false;

  /// `request`, with what the flags say.
  reproduce::Request full_request() const {
    auto full = request;
    if (no_controls || !controls.empty()) full.controls.clear();
    for (const auto& name : controls) full.controls.push_back(reproduce::control_named(name));
    if (epochs > 0) full.epochs = epochs;
    for (const auto& list : seeds)
      for (const auto seed : reproduce::seeds_in(list)) full.seeds.push_back(seed);
    return full;
  }
};

/// How far it is goes to the standard error, or nowhere if it is to be quiet. `brief`: a line a run.
struct ProgressOutput {
  explicit ProgressOutput(bool quiet, bool brief = false)
      : lines(quiet ? nullptr : std::cerr.rdbuf()),
        shown(train::progress_on_stderr(quiet, brief)),
        progress(std::cerr, shown) {}

  reproduce::ExecuteOptions options(const JobOptions& jobs) {
    return {.progress = progress,
            .stop = StopSignal::flag(),
            .out = lines,
            .live = shown.style == train::ProgressStyle::live,
            .brief = shown.brief,
            .jobs = jobs.jobs,
            .worker = jobs.worker};
  }

  std::ostream lines;  ///< which run is next
  train::ProgressOptions shown;
  train::Progress progress;  ///< within a run; warnings are seen all the same
};

/// What becomes of runs that another process has, as a sentence; "" if there are none.
std::string about_elsewhere(const reproduce::Execution& execution);

/// Ends the command as the runs ended: throws Interrupted where they were stopped, and an Error where some of
/// them failed.
void conclude(const reproduce::Execution& execution, const JobOptions& jobs);

/// The runs of --from-csv. The seeds of those below `folder` become the request's, unless it asks for some.
std::vector<report::RunSummary> recorded_runs(const ReproduceArguments& arguments,
                                              reproduce::Request& request, const std::string& folder = "");

/// `sadam reproduce curves`.
void reproduce_curves(const ReproduceArguments& arguments);
/// `sadam reproduce figures`.
void reproduce_figures(const ReproduceArguments& arguments);

}  // namespace sadam::cli
