#include "reproduce/results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/quantities.h"
#include "base/statistics.h"
#include "train/recipe/fields.h"
#include "train/recipe/short_name.h"

namespace sadam::reproduce {
namespace {

using report::Cell;
using report::RunSummary;
using Run = const RunSummary&;

std::optional<double> best_percent(Run run) { return base::percent(run.best_accuracy); }

auto place_of(const Group& group) { return std::tuple(group.column, group.row, group.control); }

std::optional<double> number_for(const std::map<std::string, double>& numbers, const std::string& column) {
  const auto found = numbers.find(column);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

// In the paper a method that failed to converge has ∗ for a time: one without a time in a column in which
// others have one, that has times elsewhere.
bool paper_has_star(const TableRecipe& table, const TableRow& row, const std::string& column) {
  return row.paper.contains(column) && !row.paper_seconds.contains(column) && !row.paper_seconds.empty() &&
         std::ranges::any_of(table.rows,
                             [&](const TableRow& other) { return other.paper_seconds.contains(column); });
}

/// Without an epoch if the run is not there.
RunSummary summary_of(const Plan& plan, const PlannedRun& run) {
  if (plan.recorded) {
    const auto found = std::ranges::find(*plan.recorded, run.folder, &RunSummary::folder);
    if (found == plan.recorded->end()) return {};
    auto summary = *found;
    summary.name = run.label(plan.table);
    return summary;
  }
  const train::RunPaths paths{run.folder};
  return std::filesystem::exists(paths.recipe()) ? report::summarise(paths, run.label(plan.table))
                                                 : RunSummary();
}

}  // namespace

std::vector<std::string> differences_from_plan(const RunSummary& run, const PlannedRun& planned) {
  std::vector<std::string> sentences;
  if (!run.recipe) return sentences;
  for (const auto& [field, there, wanted] : train::differences(*run.recipe, planned.recipe)) {
    // A control's fields say where its S-Adam run is and what that gave.
    if (field.starts_with("watch.") || field.starts_with("control.") ||
        !describes_experiment(*train::find_row(field)))
      continue;
    sentences.push_back(fmt::format("recorded with {} = {} instead of {}", field, there, wanted));
  }
  return sentences;
}

Plan with_recorded(Plan plan, std::vector<RunSummary> runs, const std::filesystem::path& root) {
  std::size_t known = 0;
  std::set<std::string> said;
  std::map<std::string, std::size_t> devices;  // of how many runs
  for (auto& summary : runs) {
    summary.folder = root / summary.name;
    const auto run = std::ranges::find(plan.runs, summary.folder, &PlannedRun::folder);
    if (run == plan.runs.end()) continue;
    ++known;
    if (const auto device = summary.recipe ? summary.recipe->train.device : ""; !device.empty())
      ++devices[device.substr(0, device.find(':'))];
    for (auto& sentence : differences_from_plan(summary, *run))
      if (said.insert(sentence).second) plan.differences.push_back(std::move(sentence));
  }
  if (known == 0)
    throw Error(
        fmt::format("there are no runs of {} in what was recorded: the names of its runs begin with {}/.",
                    plan.name, plan.name));
  if (devices.size() > 1) {
    std::vector<std::string> each;
    for (const auto& [device, count] : devices) each.push_back(fmt::format("{} on {}", count, device));
    plan.differences.push_back(fmt::format("runs of several devices: {}", fmt::join(each, ", ")));
  }
  plan.recorded = std::move(runs);
  return plan;
}

// ---- from folders of runs to tables -----------------------------------------------------------------------

namespace {

std::filesystem::path full_path(const std::filesystem::path& folder) {
  return std::filesystem::absolute(folder).lexically_normal();
}

// The request that such a folder was made by: "table1-quick" of table1. None if it is another table's.
std::optional<Request> request_behind(std::string_view folder, std::string_view table) {
  if (!folder.starts_with(table)) return std::nullopt;
  const auto variant = folder.substr(table.size());
  Request request;
  request.quick = variant.starts_with("-quick");
  const auto number = variant.substr(std::min(variant.find_first_of("0123456789"), variant.size()));
  std::int64_t epochs = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), epochs).ec == std::errc())
    request.epochs = epochs;
  return variant == variant_of(request) ? std::optional(request) : std::nullopt;
}

}  // namespace

std::vector<FoundTable> found_tables(const std::vector<const report::RunSummary*>& runs) {
  struct Folder {
    std::vector<std::size_t> runs;
    std::set<std::int64_t> seeds;
  };
  std::map<std::filesystem::path, Folder> folders;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& folder = folders[full_path(runs[i]->folder).parent_path().parent_path().parent_path()];
    folder.runs.push_back(i);
    if (runs[i]->recipe) folder.seeds.insert(runs[i]->recipe->seed);
  }
  std::vector<FoundTable> found;
  for (auto& [path, folder] : folders) {
    for (const auto& recipe : built_in_recipes()) {
      auto request = request_behind(path.filename().string(), recipe.name);
      if (!request) continue;
      request->root = path.parent_path();
      request->seeds.assign(folder.seeds.begin(), folder.seeds.end());
      request->controls.push_back(Control::replayed);
      try {
        auto plan = make_plan(find_table(std::string(recipe.name)), *request);
        found.push_back({std::string(recipe.name), *request, std::move(plan), std::move(folder.runs)});
        break;
      } catch (const Error&) {
        // No such variant, or no table at all: the runs stand for themselves.
      }
    }
  }
  return found;
}

report::RunSummary as_planned(report::RunSummary run, const FoundTable& table) {
  run.folder = full_path(run.folder);
  run.name = run.folder.lexically_relative(table.request.root).string();
  return run;
}

// ---- groups of runs ---------------------------------------------------------------------------------------

bool Group::is_finished() const {
  return std::ranges::all_of(runs, [](Run run) { return run.state == report::RunState::finished; });
}

std::vector<std::string> Groups::irregularities() const {
  std::vector<const report::RunSummary*> runs;
  for (const auto& group : groups)
    for (const auto& run : group.runs) runs.push_back(&run);
  return report::irregularities(runs);
}

Groups read_groups(const Plan& plan) {
  Groups result;
  auto& groups = result.groups;
  for (const auto& run : plan.runs) {
    auto summary = summary_of(plan, run);
    if (!summary.problem.empty()) result.problems.push_back(summary.problem);
    if (!summary.last_accuracy) continue;
    const Group wanted{run.column, run.row, run.control, {}};
    auto group = std::ranges::find(groups, place_of(wanted), place_of);
    if (group == groups.end()) group = groups.insert(group, wanted);
    group->runs.push_back(std::move(summary));
  }
  std::ranges::sort(groups, {}, place_of);
  return result;
}

namespace {

// The finished run of a seed; null if there is none.
const RunSummary* finished_run(const Group& group, std::int64_t seed) {
  const auto found = std::ranges::find_if(group.runs, [&](Run run) {
    return run.state == report::RunState::finished && run.recipe && run.recipe->seed == seed;
  });
  return found == group.runs.end() ? nullptr : &*found;
}

RunSummary mean_of(const std::vector<const RunSummary*>& runs) {
  RunSummary mean;
  mean.state = report::RunState::finished;
  mean.recipe = runs.front()->recipe;  // for its seed
  for (const auto number : {&RunSummary::best_accuracy, &RunSummary::last_accuracy,
                            &RunSummary::validated_accuracy, &RunSummary::mean_brake}) {
    std::vector<double> values;
    for (const auto* run : runs)
      if (run->*number) values.push_back(*(run->*number));
    if (values.size() == runs.size()) mean.*number = base::mean(values);
  }
  return mean;
}

// Without runs where a column has no such group or the columns have no seed in common.
Group mean_group(const std::vector<Group>& groups, const Group& like,
                 const std::vector<std::size_t>& columns) {
  Group result{0, like.row, like.control, {}};
  std::vector<const Group*> parts;
  for (const auto column : columns) {
    const auto part = std::ranges::find(groups, place_of({column, like.row, like.control, {}}), place_of);
    if (part == groups.end()) return result;
    parts.push_back(&*part);
  }
  for (Run run : parts.front()->runs) {
    if (!run.recipe) continue;
    std::vector<const RunSummary*> of_seed;
    for (const auto* part : parts)
      if (const auto* const found = finished_run(*part, run.recipe->seed)) of_seed.push_back(found);
    if (of_seed.size() == parts.size()) result.runs.push_back(mean_of(of_seed));
  }
  return result;
}

}  // namespace

Shown with_means(const TableRecipe& table, std::vector<Group> groups) {
  Shown shown{table, std::move(groups)};
  const auto keys = keys_of(table.columns);
  std::vector<Group> averaged;
  for (const auto& mean : table.means) {
    std::vector<std::size_t> columns;
    for (const auto& key : mean.columns)
      columns.push_back(static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin()));
    for (const auto& like : shown.groups) {
      if (like.column != columns.front()) continue;
      auto group = mean_group(shown.groups, like, columns);
      group.column = shown.table.columns.size();
      if (!group.runs.empty()) averaged.push_back(std::move(group));
    }
    shown.table.columns.push_back({mean.key, mean.title, {}, {}});
  }
  std::ranges::move(averaged, std::back_inserter(shown.groups));
  return shown;
}

const std::string& key_of(const TableRecipe& table, const Group& group) {
  static const std::string kAdamW = "adamw";
  return group.row < table.rows.size() ? table.rows[group.row].key : kAdamW;
}

std::string title_of(const TableRecipe& table, const Group& group) {
  if (group.control == Control::none) return table.rows[group.row].title;
  return group.control == Control::cosine ? "AdamW, cosine schedule" : name_of(group.control);
}

std::string full_title_of(const TableRecipe& table, const Group& group) {
  const auto title = title_of(table, group);
  return is_of_a_row(group.control) ? fmt::format("{}, {}", table.rows[group.row].title, title) : title;
}

std::optional<double> convergence_target(const TableRecipe& table, const std::vector<Group>& groups,
                                         std::size_t column) {
  for (const auto& group : groups) {
    if (group.column != column || group.control != Control::none ||
        table.rows[group.row].key != table.baseline)
      continue;
    // What was recorded without its epochs says nothing about when it got there.
    if (std::ranges::any_of(group.runs, [](const auto& run) { return run.epochs.empty(); }))
      return std::nullopt;
    const auto best = values_of(group.runs, best_percent);
    if (!best.empty()) return 0.95 * base::mean(best);
  }
  return std::nullopt;
}

Result result_of(const TableRecipe& table, const Group& group, std::optional<double> target) {
  Result result;
  result.seeds = group.runs.size();
  result.finished = group.is_finished();
  result.best = values_of(group.runs, best_percent);
  result.last = values_of(group.runs, [](Run run) { return base::percent(run.last_accuracy); });
  result.validated = values_of(group.runs, [](Run run) { return base::percent(run.validated_accuracy); });
  result.brake = values_of(group.runs, &RunSummary::mean_brake);
  result.wall_seconds = values_of(group.runs, [](Run run) {
    return run.train_seconds ? std::optional(*run.train_seconds + run.evaluate_seconds.value_or(0))
                             : std::nullopt;
  });
  result.peak_memory = values_of(group.runs, &RunSummary::peak_memory);
  result.target = target;
  if (target)
    result.convergence_seconds =
        values_of(group.runs, [&](Run run) { return seconds_to_reach(run, *target / 100); });
  if (group.control != Control::none) return result;
  const auto& row = table.rows[group.row];
  const auto& column = table.columns[group.column].key;
  result.paper_best = number_for(row.paper, column);
  result.paper_seconds = number_for(row.paper_seconds, column);
  result.paper_wall_seconds = number_for(row.paper_wall_seconds, column);
  result.paper_memory = number_for(row.paper_memory, column);
  result.paper_never_converged = paper_has_star(table, row, column);
  return result;
}

Cell mean_cell(const std::vector<double>& values, int digits) {
  return values.empty() ? Cell() : Cell(base::mean(values), base::with_deviation(values, digits));
}

}  // namespace sadam::reproduce
