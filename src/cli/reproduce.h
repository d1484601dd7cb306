// What `sadam reproduce` was told, and where it and the grids of `sadam train` say how far they are. Private
// to their files.
#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "cli/arguments.h"
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
  bool plan_only = false;
  bool show = false;
  bool quiet = false;
  bool csv = false;
  bool json = false;
  bool markdown = false;

  /// `request`, with what the flags say.
  reproduce::Request full_request() const {
    auto full = request;
    full.controls = !no_controls;
    if (epochs > 0) full.epochs = epochs;
    for (const auto& list : seeds)
      for (const auto seed : reproduce::seeds_in(list)) full.seeds.push_back(seed);
    return full;
  }
};

/// How far it is goes to the standard error, or nowhere if it is to be quiet. `brief`: a line a run.
struct ProgressOutput {
  explicit ProgressOutput(bool quiet, bool brief = false)
      : style(quiet ? train::ProgressStyle::quiet : train::progress_style(stderr)),
        lines(quiet ? nullptr : std::cerr.rdbuf()),
        progress(std::cerr, {.style = style, .brief = brief}),
        is_brief(brief) {}

  reproduce::ExecuteOptions options(const JobOptions& jobs) {
    return {.progress = progress,
            .stop = StopSignal::flag(),
            .out = lines,
            .live = style == train::ProgressStyle::live,
            .brief = is_brief,
            .jobs = jobs.jobs,
            .worker = jobs.worker};
  }

  train::ProgressStyle style;
  std::ostream lines;        ///< which run is next
  train::Progress progress;  ///< within a run; warnings are seen all the same
  bool is_brief;
};

/// What becomes of runs that another process has, as a sentence; "" if there are none.
std::string about_elsewhere(const reproduce::Execution& execution);

/// Ends the command as the runs ended: throws Interrupted where they were stopped, and an Error where some of
/// them failed.
void conclude(const reproduce::Execution& execution, const JobOptions& jobs);

/// `sadam reproduce curves`.
void reproduce_curves(const ReproduceArguments& arguments);
/// `sadam reproduce figures`.
void reproduce_figures(const ReproduceArguments& arguments);

}  // namespace sadam::cli
