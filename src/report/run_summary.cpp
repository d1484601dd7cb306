#include "report/run_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <sadam/error.h>

#include "base/statistics.h"
#include "base/usage_error.h"
#include "train/checkpoint.h"
#include "train/recipe/source.h"
#include "train/record/events.h"

namespace sadam::report {
namespace {

/// The message, with the file in front unless it is named already.
std::string about(const std::filesystem::path& file, const std::string& message) {
  return message.find(file.filename().string()) == std::string::npos
             ? fmt::format("{}: {}", file.string(), message)
             : message;
}

/// After the epochs.
void take_chatter(RunSummary& run, const std::vector<train::ChatterEvent>& windows) {
  const auto count = run.epochs.size();
  const auto first = count < 2 ? 0 : run.epochs[count - 2].step;
  std::vector<double> chatter;
  std::vector<double> flips;
  for (const auto& window : windows) {
    if (window.step <= first || !std::isfinite(window.chatter)) continue;
    chatter.push_back(window.chatter);
    flips.push_back(window.flips);
  }
  if (chatter.empty()) return;
  run.chatter = base::mean(chatter);
  run.flips = base::mean(flips);
}

bool has_brake(const train::Recipe& recipe) {
  return train::optimizer_of(recipe) == train::OptimizerKind::sadam ||
         train::control_of(recipe) != train::Control::none;
}

void take_epochs(RunSummary& run, const std::vector<train::EpochEvent>& epochs) {
  run.epochs = epochs;
  if (run.epochs.empty()) return;
  if (const auto* const best = train::best_of(run.epochs)) {
    run.best_accuracy = best->test_accuracy;
    run.best_epoch = best->epoch;
  }
  if (const auto* const validated = train::best_validated(run.epochs))
    run.validated_accuracy = validated->test_accuracy;
  const auto& last = run.epochs.back();
  run.epochs_done = last.epoch;
  run.last_accuracy = last.test_accuracy;
  run.last_test_loss = last.test_loss;
  run.last_gap = last.test_loss - last.train_loss;
  run.train_seconds = last.train_seconds;
  run.evaluate_seconds = last.evaluate_seconds;
  if (last.step > 0) run.seconds_per_step = last.train_seconds / static_cast<double>(last.step);
  run.peak_memory = last.peak_memory;
}

/// A run that stopped is one to go on with, unless its files say otherwise. Without its events nobody knows
/// what it came to; the checkpoint is needed for nothing but going on.
void check_whether_it_goes_on(RunSummary& run, const train::RunPaths& paths) {
  try {
    const auto saved = train::read_checkpoint(paths, *run.recipe);
    if (!saved) train::steps_without_checkpoint(paths);
    try {
      if (saved) train::check_unchanged_since(saved->position.events, paths.events());
    } catch (const Error&) {
      run.state = RunState::damaged;
      throw;
    }
    train::check_tensorboard_place(paths.tensorboard());
    if (saved) run.problem = saved->instead;
  } catch (const Error& error) {
    if (run.state != RunState::damaged) run.state = RunState::stuck;
    run.problem = error.what();
  }
}

// "" for a run it does not hold of.
using Part = std::function<std::string(const RunSummary&)>;

// "a (3 of 40), b (1 of 40) and 7 more", or "".
std::string list_of(const std::vector<const RunSummary*>& runs, const Part& part) {
  constexpr std::size_t kMostNamed = 6;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const auto* run : runs) {
    const auto text = part(*run);
    if (text.empty()) continue;
    if (names.size() < kMostNamed)
      names.push_back(text);
    else
      ++more;
  }
  const auto list = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? list : fmt::format("{} and {} more", list, more);
}

Part counted_of(std::int64_t train::StepCounts::*count, std::int64_t train::StepCounts::*whole) {
  return [=](const RunSummary& run) {
    const auto& counts = run.counts;
    return counts.*count == 0 ? "" : fmt::format("{} ({} of {})", run.name, counts.*count, counts.*whole);
  };
}

}  // namespace

void RunTotals::add(const train::Event& event) {
  if (const auto* const step = std::get_if<train::StepEvent>(&event)) {
    add_step(*step);
  } else if (const auto* const epoch = std::get_if<train::EpochEvent>(&event)) {
    of_ended_epoch_ = epoch->epoch == epoch_ ? of_epoch_ : train::StepCounts();
    epochs_.push_back(*epoch);
  } else if (const auto* const window = std::get_if<train::ChatterEvent>(&event)) {
    chatter_.push_back(*window);
  } else if (std::holds_alternative<train::RegimeEvent>(event)) {
    ++regime_changes_;
  }
}

void RunTotals::add_step(const train::StepEvent& step) {
  counts_.add(step);
  if (std::exchange(epoch_, step.epoch) != step.epoch) of_epoch_ = {};
  of_epoch_.add(step);
  brake_sum_ += step.brake;
  lgi_sum_ += step.lgi;
  last_step_ = step.step;
}

void RunTotals::put_into(RunSummary& run) const {
  if (counts_.steps > 0) {
    const auto count = static_cast<double>(counts_.steps);
    run.steps = last_step_;
    run.mean_brake = brake_sum_ / count;
    if (counts_.probed > 0) run.mean_lgi = lgi_sum_ / count;
  }
  run.counts = counts_;
  take_epochs(run, epochs_);
  take_chatter(run, chatter_);
  run.regime_changes = regime_changes_;
  run.diverged = !epochs_.empty() && !train::divergence(epochs_.back(), of_ended_epoch_).empty();
}

RunSummary summarise(const train::RunPaths& paths, std::string name) {
  // Asked first: a run that ends while its events are read is then called running, and not cut short.
  const bool locked = train::is_in_use(paths);
  EventsRead events;
  train::EventTail tail(paths.events());
  try {
    tail.read([&](const train::Event& event) { events.totals.add(event); }, [] {});
    events.problem = tail.problem();
    events.cut_line = tail.cut_line();
  } catch (const Error& error) {
    events.problem = error.what();
  }
  return summarise(paths, std::move(name), events, locked);
}

RunSummary summarise(const train::RunPaths& paths, std::string name, const EventsRead& events, bool locked) {
  RunSummary run;
  run.name = std::move(name);
  run.folder = paths.folder;
  const auto unread = [&](RunState state, const std::filesystem::path& file, const std::string& sentence) {
    if (run.problem.empty()) {
      run.state = state;
      run.problem = about(file, sentence);
    }
  };
  if (events.problem.empty())
    events.totals.put_into(run);
  else
    unread(RunState::damaged, paths.events(), events.problem);
  try {
    train::check_has_recipe(paths);
    run.recipe = train::recipe_of(paths);
  } catch (const UsageError& error) {
    unread(RunState::unknown, paths.recipe(), error.what());
  } catch (const Error& error) {
    unread(RunState::damaged, paths.recipe(), error.what());
  }
  if (run.recipe && !has_brake(*run.recipe)) run.mean_brake.reset();
  if (is_unread(run.state)) return run;

  if (run.epochs_done >= run.recipe->train.epochs)
    run.state = RunState::finished;
  else if (locked)
    run.state = RunState::running;
  else
    check_whether_it_goes_on(run, paths);
  if (events.cut_line > 0 && !locked && run.problem.empty()) {
    run.problem = fmt::format(
        "{} ends in the middle of line {}, as a killed run leaves it; go on with: sadam train --resume {}",
        paths.events().string(), events.cut_line, paths.folder.string());
  }
  return run;
}

std::vector<RunSummary> summarise_all(const std::filesystem::path& root) {
  std::vector<RunSummary> runs;
  for (const auto& paths : train::find_runs(root)) {
    auto name = paths.folder.lexically_relative(root).string();
    if (name.empty() || name == ".") name = paths.folder.filename().string();
    runs.push_back(summarise(paths, std::move(name)));
  }
  return runs;
}

std::vector<RunSummary> named_runs(const std::vector<std::string>& names, const std::filesystem::path& root) {
  std::vector<RunSummary> runs;
  for (const auto& name : names) {
    const auto paths = train::find_run(name, root);
    auto shown = name;
    while (shown.size() > 1 && shown.back() == '/') shown.pop_back();
    auto run = summarise(paths, std::move(shown));
    if (is_unread(run.state)) throw Error(run.problem);
    runs.push_back(std::move(run));
  }
  check_given_once(runs);
  return runs;
}

void check_given_once(const std::vector<RunSummary>& runs) {
  for (auto run = runs.begin(); run != runs.end(); ++run)
    if (std::any_of(runs.begin(), run, [&](const RunSummary& other) {
          std::error_code trouble;
          return std::filesystem::equivalent(other.folder, run->folder, trouble);
        }))
      throw UsageError(fmt::format("the run '{}' is given twice; leave one out.", run->name));
}

std::map<std::int64_t, std::vector<double>> values_by_epoch(const std::vector<RunSummary>& runs,
                                                            double train::EpochEvent::*field, double scale) {
  std::map<std::int64_t, std::vector<double>> values;
  for (const auto& run : runs)
    for (const auto& epoch : run.epochs) values[epoch.epoch].push_back(scale * epoch.*field);
  return values;
}

std::optional<double> seconds_to_reach(const RunSummary& run, double accuracy) {
  for (const auto& epoch : run.epochs)
    if (epoch.test_accuracy >= accuracy) return epoch.train_seconds;
  return std::nullopt;
}

std::vector<std::string> irregularities(const std::vector<const RunSummary*>& runs) {
  std::vector<std::string> sentences;
  const auto add = [&](const char* sentence, const Part& part) {
    const auto list = list_of(runs, part);
    if (!list.empty()) sentences.push_back(fmt::format("{}: {}.", sentence, list));
  };
  add("Diverged, by the last epoch", [](const RunSummary& run) { return run.diverged ? run.name : ""; });
  add("Steps skipped, because the loss or its gradient was not finite",
      counted_of(&train::StepCounts::skipped, &train::StepCounts::steps));
  add("Probes that were not finite, each of which made the ρ of its step the largest there is",
      [](const RunSummary& run) {
        const auto count = run.counts.non_finite_probes;
        return count == 0 ? "" : fmt::format("{} ({})", run.name, count);
      });
  add("Steps whose probes changed the loss by no more than it is rounded, so that their ρ is noise",
      counted_of(&train::StepCounts::within_noise, &train::StepCounts::probed));
  return sentences;
}

}  // namespace sadam::report
