// What `sadam compare` shows: what differs in the recipes, and what came of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/picture.h"
#include "report/run_summary.h"
#include "report/text_table.h"

namespace sadam::report {

/// A run, or runs that differ in nothing but the seed.
struct Entrant {
  std::string name;
  std::string
      label;  ///< by the fields that differ: "adamw lr=1e-3"; the name where these do not tell all apart
  std::vector<RunSummary> runs;  ///< at least one, each with a recipe
};

/// A recipe field that is not the same for all; a cell for each entrant, empty where the field decides
/// nothing.
struct Difference {
  std::string field;
  std::vector<Cell> cells;
};

/// A number that came out of the runs.
struct Measure {
  std::string key;    ///< for programs: "best", "step_time"
  std::string title;  ///< for people
  std::function<std::string(double)> format;
  std::vector<std::vector<double>> values;  ///< for each entrant, one value a run that has it
  bool only_if_any = false;                 ///< a person wants to see it only where it is not zero
};

struct Comparison {
  std::vector<Entrant> entrants;
  bool by_seed = false;
  std::vector<Difference> differences;
  std::vector<Measure> results;
  std::vector<Measure> accuracy;  ///< per cent on the test set, a measure an epoch
  std::size_t baseline = 0;       ///< the entrant that the others are compared with, seed by seed
  std::vector<Measure> paired;    ///< best and last accuracy less the baseline's, in points, a value a pair
  std::vector<std::string> warnings;  ///< sentences: what is not finished, cut short, or went wrong
};

/// The runs must have recipes, as those from named_runs() have. With `by_seed`, runs whose recipes are equal
/// but for seed and title are one entrant, in the order in which they come; so are those that differ in
/// data.root, train.processes, train.split, train.threads and train.checkpoint_every, unless a seed would
/// come twice. A control follows the S-Adam run whose brakes it has: two of them belong together if those
/// runs do. Throws a UsageError that names the two runs if a seed comes twice in an
/// entrant. `baseline` is the name of an entrant or of a run, or a label; "" for the first entrant. Throws a
/// UsageError for any other.
Comparison compare(std::vector<RunSummary> runs, bool by_seed, const std::string& baseline = "");

/// What runs of one group, which are repeated with other seeds, have in common: the recipe without seed and
/// title, and without what decides nothing about results; of a control, that of the S-Adam run as well.
std::string group_key(const train::Recipe& recipe);

/// What the names of a group begin with, less what only led up to the seed: "adamw-seed1", "adamw-seed2" →
/// "adamw".
std::string common_name(const std::vector<std::string>& names);

struct SeedDifference {
  std::int64_t seed = 0;
  double points = 0;
};

/// By seed, unless a seed comes twice in an entrant.
Comparison compare_by_seed_if_possible(std::vector<RunSummary> runs, const std::string& baseline = "");

/// Runs of one seed start from the same weights and see the same batches: what those of `a` are above those
/// of `b`, in points, for each seed that both have and that have both ended or come equally far.
std::vector<SeedDifference> seeds_and_differences(const std::vector<RunSummary>& a,
                                                  const std::vector<RunSummary>& b,
                                                  std::optional<double> RunSummary::*accuracy);
/// The differences alone.
std::vector<double> differences_by_seed(const std::vector<RunSummary>& a, const std::vector<RunSummary>& b,
                                        std::optional<double> RunSummary::*accuracy);

/// "+1.20 ± 0.35": the mean and its 95 % interval; without it for a single value, and nothing for none.
Cell difference_cell(const std::vector<double>& values);

/// Whether unstable runs generalise worse: the rank correlation, over runs, of what was measured along the
/// way (mean ρ, mean brake, chattering) with the gap between test and training loss in the last epoch. A row
/// for each quantity that at least 4 runs have; throws a UsageError if there is none.
TextTable generalisation(const std::vector<RunSummary>& runs);

/// One table: recipes, results, accuracies. `width` as for tables.
std::string to_text(const Comparison& comparison, std::size_t width = 0);
/// For many entrants: a row each, with the difference to the baseline. `width` as for tables.
std::string to_text_rows(const Comparison& comparison, std::size_t width = 0);
/// All of it, a column an entrant; with `by_seed` two more: deviations, and how many runs each is of.
std::string to_csv(const Comparison& comparison);
/// An array with an object for each entrant.
std::string to_json(const Comparison& comparison);

/// Test accuracy and training loss by epoch: a line an entrant, its mean where it has several runs, and these
/// as thin lines.
Picture to_picture(const Comparison& comparison);

}  // namespace sadam::report
