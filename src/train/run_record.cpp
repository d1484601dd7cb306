#include "train/run_record.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "train/progress.h"
#include "train/recipe/fields.h"

namespace sadam::train {
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// How often TensorBoard gets a point: a hundred times an epoch is plenty for a curve.
std::int64_t tensorboard_interval(std::int64_t steps_per_epoch) {
  return std::max<std::int64_t>(steps_per_epoch / 100, 1);
}

bool is_tensorboard_lost(const Position& position, const RunPaths& paths) {
  try {
    check_unchanged_since(position.tensorboard, paths.tensorboard_file());
    return false;
  } catch (const Error&) {
    return true;
  }
}

std::string tensorboard_made_anew(const RunPaths& paths) {
  return fmt::format("{} is damaged or gone: it is made anew from {}.", paths.tensorboard_file().string(),
                     paths.events().filename().string());
}

// What a new file holds: the recipe, and the points of what has happened.
void write_tensorboard(TensorBoardWriter& file, const Recipe& recipe, const EventFile& events,
                       std::int64_t interval) {
  const auto value_of = [](const auto* slot) -> Hyperparameter::second_type {
    if constexpr (std::is_same_v<decltype(slot), const std::int64_t*>)
      return static_cast<double>(*slot);
    else
      return *slot;
  };
  auto copy = recipe;  // the table hands out places to write to
  std::vector<Hyperparameter> fields;
  for (const auto& row : field_table())
    if (row.applies_to(recipe)) fields.emplace_back(row.name(), std::visit(value_of, row.slot(copy)));
  const double now = wall_time();
  file.recipe(to_toml(recipe), fields, now);
  for (const auto& event : events.steps)
    if (event.step % interval == 0) file.step(event, now);
  for (const auto& event : events.chatter) file.chatter(event, now);
  EpochEvent before;
  for (const auto& event : events.epochs) file.epoch(event, std::exchange(before, event), now);
}

double accuracy_to_keep_by(const EpochEvent& epoch) {
  return epoch.validation_accuracy.value_or(epoch.test_accuracy);
}

}  // namespace

RunRecord::RunRecord(const RunPaths& paths, const Recipe& recipe, const Position& position,
                     const EventFile& before, std::int64_t steps_per_epoch, Progress& progress)
    : paths_(paths), progress_(progress), interval_(tensorboard_interval(steps_per_epoch)) {
  const bool is_new = position.tensorboard.bytes == 0;
  const bool is_lost = !is_new && is_tensorboard_lost(position, paths_);
  if (is_lost) progress_.warn(tensorboard_made_anew(paths_));
  tensorboard_.emplace(paths_.tensorboard_file(), is_lost ? 0 : position.tensorboard.bytes);
  if (is_new || is_lost) write_tensorboard(*tensorboard_, recipe, before, interval_);
  events_.emplace(paths_.events(), position.events.bytes);
  if (recipe.watch.regimes > 0) {
    regimes_.emplace(recipe.watch.regimes);
    // What it has seen is in the events: it goes on as if it had never stopped.
    for (const auto& step : before.steps) regimes_->add(step);
  }
  if (!before.epochs.empty()) last_epoch_ = before.epochs.back();
  if (const auto* const best = epoch_to_keep(before.epochs)) best_accuracy_ = accuracy_to_keep_by(*best);
}

void RunRecord::step(const StepEvent& event) {
  events_->append(to_line(event));
  if (event.step % interval_ == 0) tensorboard_->step(event, wall_time());
  if (!regimes_) return;
  for (const auto& change : regimes_->add(event)) {
    events_->append(to_line(change));
    progress_.note(fmt::format("step {}: {} went from {:.3g} to {:.3g}", event.step,
                               change.quantity == "lgi" ? "ρ" : "the residual", change.before, change.after));
  }
}

void RunRecord::chatter(const ChatterEvent& event) {
  events_->append(to_line(event));
  tensorboard_->chatter(event, wall_time());
}

void RunRecord::epoch(const EpochEvent& event) {
  events_->append(to_line(event));
  tensorboard_->epoch(event, std::exchange(last_epoch_, event), wall_time());
}

void RunRecord::note(const std::string& text, bool shown) {
  events_->append(to_line(NoteEvent{text}));
  if (shown) progress_.note(text);
}

void RunRecord::mark(Position& position) {
  position.events = events_->sync();
  position.tensorboard = tensorboard_->sync();
}

void RunRecord::save(std::span<const std::byte> checkpoint) {
  base::write_file_and_keep_previous(paths_.checkpoint(), checkpoint, paths_.previous_checkpoint());
}

// A run that is killed before it gets here does it when it is resumed (events_until).
void RunRecord::keep_if_best(const EpochEvent& event) {
  if (!(accuracy_to_keep_by(event) > best_accuracy_)) return;
  best_accuracy_ = accuracy_to_keep_by(event);
  base::name_also(paths_.checkpoint(), paths_.best_checkpoint());
}

EventFile events_until(const SavedRun& saved, const RunPaths& paths) {
  const auto& position = saved.position;
  check_unchanged_since(position.events, paths.events());
  const auto bytes = base::read_file(paths.events());
  auto events = read_events(std::span(bytes).first(static_cast<std::size_t>(position.events.bytes)));
  const auto* const best = epoch_to_keep(events.epochs);
  if (best != nullptr && best->epoch == position.epoch && position.this_epoch.steps == 0)
    base::name_also(saved.path, paths.best_checkpoint());
  return events;
}

void restore_tensorboard(SavedRun& saved, const Recipe& recipe, const EventFile& events,
                         const RunPaths& paths, Progress* progress) {
  if (!is_tensorboard_lost(saved.position, paths)) return;
  if (progress != nullptr) progress->warn(tensorboard_made_anew(paths));
  TensorBoardWriter file(paths.tensorboard_file(), 0);
  write_tensorboard(file, recipe, events, tensorboard_interval(events.epochs.front().step));
  saved.position.tensorboard = file.sync();
  base::write_file_atomically(saved.path, seal(to_meta(saved.position), open_envelope(saved.file).payload));
}

}  // namespace sadam::train
