#include "report/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>

#include "base/file.h"
#include "base/quantities.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/usage_error.h"
#include "report/recipe_values.h"
#include "train/recipe/short_name.h"
#include "train/recipe/source.h"

namespace sadam::report {
namespace {

// Of a run that cannot be read, its name is all that is known: "row/seed-42" is the same for all seeds but
// for the 42 at its end. A `replayed` control has the brakes of another seed.
void forget_seed_in_name(train::ControlRecipe& control, std::int64_t seed) {
  auto name = std::filesystem::path(control.run).lexically_normal().string();
  const auto number = control.kind == name_of(train::Control::replayed)
                          ? name.substr(name.find_last_not_of("0123456789") + 1)
                          : std::to_string(seed);
  if (number.empty() || !name.ends_with("seed-" + number)) return;  // the run stays by itself
  name.resize(name.size() - number.size());
  control.run = name;
  control.brake = 1;
}

train::Recipe without_seed(train::Recipe recipe) {
  const auto seed = std::exchange(recipe.seed, 0);
  recipe.title.clear();
  auto& control = recipe.control;
  const auto kind = train::control_of(recipe);
  if (!train::has_brakes_of_a_run(kind)) return recipe;
  const auto file = train::RunPaths{control.run}.recipe();
  std::error_code gone;
  if (!std::filesystem::is_regular_file(file, gone)) {  // and no pipe, which would be waited for
    forget_seed_in_name(control, seed);
    return recipe;
  }
  try {
    auto controlled = train::recipe_in(base::read_text(file), file.string());
    // Nobody can control a control, so this goes no deeper.
    controlled.control = {};
    control.run = train::to_toml(without_seed(std::move(controlled)));
    control.brake = 1;
  } catch (const Error&) {
    forget_seed_in_name(control, seed);
  }
  return recipe;
}

/// What is wrong if a seed comes twice, which makes the deviation smaller than it is; "" if none does.
std::string complaint_on_seeds(const std::vector<RunSummary>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (runs[i].recipe->seed == runs[j].recipe->seed)
        return fmt::format(
            "--by-seed: the runs '{}' and '{}' have the same recipe and the same seed, {}, which would count "
            "twice; leave one of them out.",
            runs[j].name, runs[i].name, runs[i].recipe->seed);
  return "";
}

bool all_differ(const std::vector<Entrant>& entrants, std::string Entrant::*text) {
  std::set<std::string> names;
  for (const auto& entrant : entrants) names.insert(entrant.*text);
  return names.size() == entrants.size() && names.count("") == 0;
}

// Each run for itself.
std::vector<Entrant> single_entrants(std::vector<RunSummary> runs) {
  std::vector<Entrant> entrants;
  for (auto& run : runs) {
    auto& entrant = entrants.emplace_back();
    entrant.name = run.name;
    entrant.runs.push_back(std::move(run));
  }
  return entrants;
}

// What decides nothing about the results, or only how they are rounded.
train::Recipe without_machine(train::Recipe recipe) {
  recipe.data.root.clear();
  recipe.train.processes = 1;
  recipe.train.split = train::TrainRecipe().split;
  recipe.train.threads = 0;
  recipe.train.checkpoint_every = 0;
  return recipe;
}

template <class Key>
std::vector<Entrant> groups_with(const std::vector<RunSummary>& runs, const Key& key_of) {
  std::vector<train::Recipe> keys;
  std::vector<Entrant> groups;
  for (const auto& run : runs) {
    auto key = key_of(run.recipe.value());
    const auto at = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (at == keys.size()) {
      keys.push_back(std::move(key));
      groups.emplace_back();
    }
    groups[at].runs.push_back(run);
  }
  return groups;
}

std::vector<Entrant> group_by_seed(const std::vector<RunSummary>& runs) {
  auto groups =
      groups_with(runs, [](const train::Recipe& recipe) { return without_machine(without_seed(recipe)); });
  if (!std::ranges::all_of(groups,
                           [](const Entrant& group) { return complaint_on_seeds(group.runs).empty(); }))
    groups = groups_with(runs, without_seed);
  for (auto& group : groups) {
    if (const auto sentence = complaint_on_seeds(group.runs); !sentence.empty()) throw UsageError(sentence);
    std::vector<std::string> names;
    for (const auto& run : group.runs) names.push_back(run.name);
    group.name = common_name(names);
  }
  if (all_differ(groups, &Entrant::name)) return groups;
  for (auto& group : groups) group.name = short_optimizer(*group.runs.front().recipe);
  if (all_differ(groups, &Entrant::name)) return groups;
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].name += fmt::format(" #{}", i + 1);
  return groups;
}

/// What the runs of one entrant have: their value, or all of them in a row.
Cell cell_of_all(const std::vector<Cell>& cells, const std::string& field) {
  std::vector<std::string> texts;
  for (const auto& cell : cells)
    if (std::ranges::find(texts, cell.text) == texts.end()) texts.push_back(cell.text);
  if (texts.size() == 1) return cells.front();
  return field == "control.run" ? "one for each seed" : fmt::format("{}", fmt::join(texts, ", "));
}

/// A field that decides nothing for some is no difference by itself: that they are not alike is said by the
/// field that makes it so.
bool differ(const std::vector<Cell>& cells) {
  std::set<Value> values;
  for (const auto& cell : cells)
    if (!std::holds_alternative<std::monostate>(cell.value)) values.insert(cell.value);
  return values.size() > 1;
}

std::vector<Difference> differences_between(const std::vector<Entrant>& entrants) {
  std::vector<Difference> differences;
  const auto add = [&](const std::string& field, const auto& cell_of) {
    Difference row{field, {}};
    for (const auto& entrant : entrants) {
      std::vector<Cell> cells;
      for (const auto& run : entrant.runs) cells.push_back(cell_of(*run.recipe));
      row.cells.push_back(cell_of_all(cells, field));
    }
    if (differ(row.cells)) differences.push_back(std::move(row));
  };
  // It stands first: of optimizers that share few fields it says more than these.
  add("optimizer", [](const train::Recipe& recipe) { return Cell(short_optimizer(recipe)); });
  for (const auto& field : train::field_table())
    add(field.name(), [&](const train::Recipe& recipe) { return recipe_value(field, recipe); });
  return differences;
}

// By the fields that differ, as far as they are about the experiment.
void add_labels(std::vector<Entrant>& entrants, const std::vector<Difference>& differences, bool by_seed) {
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    std::vector<std::string> parts;
    for (const auto& difference : differences) {
      const auto* const row = train::find_row(difference.field);
      if (row == nullptr || !describes_experiment(*row) || difference.field == "control.run") continue;
      if (by_seed && difference.field == "seed") continue;
      if (!std::holds_alternative<std::monostate>(difference.cells[i].value))
        parts.push_back(short_text(*row, *entrants[i].runs.front().recipe, train::Join::label));
    }
    entrants[i].label = fmt::format("{}", fmt::join(parts, " "));
  }
  if (all_differ(entrants, &Entrant::label)) return;
  for (auto& entrant : entrants) entrant.label = entrant.name;
}

std::size_t baseline_named(const std::vector<Entrant>& entrants, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const auto& entrant = entrants[i];
    if (name == entrant.name || name == entrant.label ||
        std::ranges::count(entrant.runs, name, &RunSummary::name) > 0)
      return i;
    names.push_back(entrant.label);
  }
  throw UsageError(
      fmt::format("--baseline {}: none of these is called so{}", name, base::suggestion(name, names)));
}

std::function<std::string(double)> digits(int count) {
  return [count](double value) { return base::decimal(value, count); };
}

std::string whole_or_not(double value) { return base::decimal(value, value == std::round(value) ? 0 : 1); }

template <typename Take>
Measure measure(std::string key, std::string title, std::function<std::string(double)> format,
                const std::vector<Entrant>& entrants, const Take& take, bool only_if_any = false) {
  Measure result{std::move(key), std::move(title), std::move(format), {}, only_if_any};
  for (const auto& entrant : entrants) result.values.push_back(values_of(entrant.runs, take));
  return result;
}

std::vector<Measure> results_of(const std::vector<Entrant>& entrants) {
  using Run = const RunSummary&;
  constexpr bool kIfAny = true;
  const auto size = [](double bytes) { return base::memory(std::llround(bytes)); };
  const auto milliseconds = [](double seconds) {
    return fmt::format("{} ms", base::decimal(1000 * seconds, 1));
  };
  const auto row = [&](const char* key, const char* title, std::function<std::string(double)> format,
                       const auto& take, bool only_if_any = false) {
    return measure(key, title, std::move(format), entrants, take, only_if_any);
  };
  const auto count = [&](const char* key, const char* title, std::int64_t train::StepCounts::*field) {
    return row(
        key, title, whole_or_not, [=](Run run) { return std::optional(run.counts.*field); }, kIfAny);
  };
  return {
      row("best", "best accuracy, %", digits(2), [](Run run) { return base::percent(run.best_accuracy); }),
      row("last", "last accuracy, %", digits(2), [](Run run) { return base::percent(run.last_accuracy); }),
      row("best_epoch", "epoch of the best", whole_or_not, &RunSummary::best_epoch),
      row("test_loss", "last test loss", digits(4), &RunSummary::last_test_loss),
      row("lgi", "mean ρ", digits(3), &RunSummary::mean_lgi),
      row("brake", "mean brake", digits(3), &RunSummary::mean_brake),
      row("step_time", "time per step", milliseconds, &RunSummary::seconds_per_step),
      row("time", "training time", base::duration, &RunSummary::train_seconds),
      row("evaluate_time", "evaluation time", base::duration, &RunSummary::evaluate_seconds),
      row("memory", "peak memory", size, &RunSummary::peak_memory),
      row("epochs", "epochs done", whole_or_not, [](Run run) { return std::optional(run.epochs_done); }),
      row("chatter", "chatter, last epoch", digits(3), &RunSummary::chatter, kIfAny),
      row("flips", "signs flipped, last epoch", digits(3), &RunSummary::flips, kIfAny),
      row(
          "regimes", "changes of ρ's level", whole_or_not,
          [](Run run) { return std::optional(run.regime_changes); }, kIfAny),
      count("skipped", "steps skipped", &train::StepCounts::skipped),
      count("non_finite_probes", "probes not finite", &train::StepCounts::non_finite_probes),
      count("within_noise", "steps probed within rounding", &train::StepCounts::within_noise),
  };
}

std::vector<Measure> paired_of(const Comparison& comparison) {
  const auto points = [](double value) { return fmt::format("{:+.2f}", value); };
  const auto& base = comparison.entrants[comparison.baseline];
  const auto paired = [&](const char* key, const char* title, std::optional<double> RunSummary::*accuracy) {
    Measure measure{key, title, points, {}, false};
    for (const auto& entrant : comparison.entrants)
      measure.values.push_back(&entrant == &base ? std::vector<double>()
                                                 : differences_by_seed(entrant.runs, base.runs, accuracy));
    return measure;
  };
  return {paired("best", "best, points", &RunSummary::best_accuracy),
          paired("last", "last, points", &RunSummary::last_accuracy)};
}

std::vector<Measure> accuracy_of(const std::vector<Entrant>& entrants) {
  std::set<std::int64_t> epochs;
  for (const auto& entrant : entrants)
    for (const auto& run : entrant.runs)
      for (const auto& epoch : run.epochs) epochs.insert(epoch.epoch);
  std::vector<Measure> measures;
  for (const auto number : epochs) {
    const auto name = fmt::format("{}", number);
    measures.push_back(measure(
        name, fmt::format("accuracy, %, epoch {}", name), digits(2), entrants, [&](const RunSummary& run) {
          const auto found = std::ranges::find(run.epochs, number, &train::EpochEvent::epoch);
          return found == run.epochs.end() ? std::nullopt
                                           : std::optional(base::percent(found->test_accuracy));
        }));
  }
  return measures;
}

std::vector<std::string> warnings_about(const std::vector<Entrant>& entrants) {
  constexpr std::size_t kFew = 8;  // more are counted instead of named
  std::vector<std::string> warnings;
  std::vector<std::string> unfinished;
  for (const auto& entrant : entrants) {
    for (const auto& run : entrant.runs) {
      if (!run.problem.empty()) warnings.push_back(run.problem);
      if (run.state == RunState::finished) continue;
      unfinished.push_back(
          fmt::format("{} is {} after {} of {}: its numbers are not final.", run.name,
                      run.state == RunState::running ? "still running" : "stopped", run.epochs_done,
                      base::counted(static_cast<std::uint64_t>(run.recipe->train.epochs), "epoch")));
    }
  }
  if (unfinished.size() > kFew)
    unfinished = {fmt::format("{} runs are not finished: their numbers are not final.", unfinished.size())};
  warnings.insert(warnings.end(), unfinished.begin(), unfinished.end());
  std::vector<const RunSummary*> runs;
  for (const auto& entrant : entrants)
    for (const auto& run : entrant.runs) runs.push_back(&run);
  for (auto& sentence : irregularities(runs)) warnings.push_back(std::move(sentence));
  return warnings;
}

}  // namespace

Comparison compare(std::vector<RunSummary> runs, bool by_seed, const std::string& baseline) {
  Comparison result;
  result.by_seed = by_seed;
  result.entrants = by_seed ? group_by_seed(runs) : single_entrants(std::move(runs));
  if (result.entrants.empty()) return result;
  result.differences = differences_between(result.entrants);
  add_labels(result.entrants, result.differences, by_seed);
  if (!baseline.empty()) result.baseline = baseline_named(result.entrants, baseline);
  result.results = results_of(result.entrants);
  result.accuracy = accuracy_of(result.entrants);
  result.paired = paired_of(result);
  result.warnings = warnings_about(result.entrants);
  return result;
}

Comparison compare_by_seed_if_possible(std::vector<RunSummary> runs, const std::string& baseline) {
  bool by_seed = true;
  try {
    compare(runs, true);
  } catch (const UsageError&) {
    by_seed = false;
  }
  return compare(std::move(runs), by_seed, baseline);
}

std::string group_key(const train::Recipe& recipe) {
  return train::to_toml(without_machine(without_seed(recipe)));
}

std::string common_name(const std::vector<std::string>& names) {
  std::string_view common = names.front();
  for (const auto& name : names) {
    const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
    common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
  }
  if (names.size() == 1) return std::string(common);
  constexpr std::string_view kSeparators = "-_./ =";
  const auto trim = [&] { common = common.substr(0, common.find_last_not_of(kSeparators) + 1); };
  // Seeds 41 and 42 begin alike, too.
  const auto digits = common.substr(0, common.find_last_not_of("0123456789") + 1);
  if (!digits.empty() && kSeparators.find(digits.back()) != std::string_view::npos) common = digits;
  trim();
  for (const std::string_view word : {"seed", "s"}) {
    if (common.size() > word.size() && common.substr(common.size() - word.size()) == word &&
        kSeparators.find(common[common.size() - word.size() - 1]) != std::string_view::npos) {
      common.remove_suffix(word.size());
      trim();
    }
  }
  return std::string(common);
}

std::vector<SeedDifference> seeds_and_differences(const std::vector<RunSummary>& a,
                                                  const std::vector<RunSummary>& b,
                                                  std::optional<double> RunSummary::*accuracy) {
  const auto is_done = [](const RunSummary& run) { return run.state == RunState::finished; };
  std::vector<SeedDifference> values;
  for (const auto& run : a)
    for (const auto& other : b)
      if (run.recipe && other.recipe && run.recipe->seed == other.recipe->seed &&
          ((is_done(run) && is_done(other)) || run.epochs_done == other.epochs_done) && run.*accuracy &&
          other.*accuracy)
        values.push_back(
            {run.recipe->seed, base::percent(*(run.*accuracy)) - base::percent(*(other.*accuracy))});
  return values;
}

std::vector<double> differences_by_seed(const std::vector<RunSummary>& a, const std::vector<RunSummary>& b,
                                        std::optional<double> RunSummary::*accuracy) {
  std::vector<double> values;
  for (const auto& pair : seeds_and_differences(a, b, accuracy)) values.push_back(pair.points);
  return values;
}

Cell difference_cell(const std::vector<double>& values) {
  if (values.empty()) return {};
  auto text = fmt::format("{:+.2f}", base::mean(values));
  if (const auto half = base::half_interval(values)) text += fmt::format(" ± {:.2f}", *half);
  return {base::mean(values), text};
}

TextTable generalisation(const std::vector<RunSummary>& runs) {
  constexpr std::size_t kLeast = 4;  // fewer have no interval
  struct Quantity {
    const char* key;
    const char* title;
    std::optional<double> RunSummary::*field;
  };
  constexpr std::array<Quantity, 4> kQuantities = {
      {{"lgi", "mean ρ", &RunSummary::mean_lgi},
       {"brake", "mean brake", &RunSummary::mean_brake},
       {"chatter", "chatter, last epoch", &RunSummary::chatter},
       {"flips", "signs flipped, last epoch", &RunSummary::flips}}};
  TextTable table;
  table.columns = {{"quantity", "with the gap in loss"},
                   {"runs", "runs", Align::right},
                   {"correlation", "rank correlation", Align::right},
                   {"low", "from", Align::right},
                   {"high", "to", Align::right}};
  for (const auto& quantity : kQuantities) {
    std::vector<double> values;
    std::vector<double> gaps;
    for (const auto& run : runs) {
      const auto value = run.*quantity.field;
      if (!value || !run.last_gap || !std::isfinite(*value) || !std::isfinite(*run.last_gap)) continue;
      values.push_back(*value);
      gaps.push_back(*run.last_gap);
    }
    if (values.size() < kLeast) continue;
    const auto found = base::rank_correlation(values, gaps);
    table.add({Cell(Value(quantity.key), quantity.title), Cell::count(gaps.size()),
               Cell::number(found.value, 2), Cell::number(found.low, 2), Cell::number(found.high, 2)});
  }
  if (table.rows.empty())
    throw UsageError(
        "fewer than 4 of these runs have an epoch and a ρ, a brake or chattering (--set watch.chatter=50): "
        "train more of them.");
  return table;
}

}  // namespace sadam::report
