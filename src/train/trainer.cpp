#include "train/trainer.h"

#include <fmt/format.h>
#include <sadam/error.h>
#include <sadam/optimizer.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "nn/classifier.h"
#include "train/chatter.h"
#include "train/checkpoint.h"
#include "train/device.h"
#include "train/feed.h"
#include "train/progress.h"
#include "train/recipe/fields.h"
#include "train/recipe/source.h"
#include "train/record/events.h"
#include "train/regimes.h"
#include "train/schedule.h"
#include "train/setup.h"
#include "train/training.h"

namespace sadam::train {
namespace {

#if TORCH_VERSION_MAJOR >= 2
namespace torchs = c10::WarningUtils;
#else
namespace torchs = c10::Warning;
#endif

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// On a GPU each fetch of summaries waits for the device: they are fetched in lots.
constexpr std::size_t kLot = 128;

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
                       std::int64_t steps_per_epoch) {
  struct Value {
    Hyperparameter::second_type operator()(const std::string* text) const { return *text; }
    Hyperparameter::second_type operator()(const bool* flag) const { return *flag; }
    Hyperparameter::second_type operator()(const double* number) const { return *number; }
    Hyperparameter::second_type operator()(const std::int64_t* number) const {
      return static_cast<double>(*number);
    }
  };
  auto copy = recipe;  // the table hands out places to write to
  std::vector<Hyperparameter> fields;
  for (const auto& row : field_table())
    if (row.applies_to(recipe)) fields.emplace_back(row.name(), std::visit(Value{}, row.slot(copy)));
  const double now = wall_time();
  file.recipe(to_toml(recipe), fields, now);
  for (const auto& event : events.steps)
    if (event.step % tensorboard_interval(steps_per_epoch) == 0) file.step(event, now);
  for (const auto& event : events.chatter) file.chatter(event, now);
  EpochEvent before;
  for (const auto& event : events.epochs) file.epoch(event, std::exchange(before, event), now);
}

std::optional<double> residual_of(const StepSummary& summary) {
  if (!summary.probed || summary.slopes.empty()) return std::nullopt;
  double squares = 0;
  for (std::size_t i = 0; i < summary.slopes.size(); ++i) {
    const double residual = summary.differences[i] - summary.slopes[i];
    squares += residual * residual;
  }
  return std::sqrt(squares / static_cast<double>(summary.slopes.size()));
}

double accuracy_to_keep_by(const EpochEvent& epoch) {
  return epoch.validation_accuracy.value_or(epoch.test_accuracy);
}

// A run that is under way.
class Run {
 public:
  /// `before`: what has happened until the checkpoint.
  Run(const RunFolder& folder, const RunOptions& options, Recipe recipe, std::optional<SavedRun> saved,
      EventFile before);
  Outcome go();

 private:
  bool stop_requested() const { return options_.stop != nullptr && *options_.stop; }
  double steps_per_evaluation() const;
  bool train_epoch();  // false: stopped before its end
  void take_step();
  /// Writes the events of steps whose numbers are known; of all that were taken, if asked.
  void write_events(bool all);
  void write_event(const StepSummary& summary);
  void write_chatter(std::int64_t step);
  bool finish_epoch();
  /// Of this epoch.
  std::int64_t steps_taken() const {
    return position_.this_epoch.steps + static_cast<std::int64_t>(pending_.size());
  }
  void save();
  /// The checkpoint of an epoch that was just saved, if it is the best so far.
  void keep_if_best(const EpochEvent& event);
  bool checkpoint_is_due() const;
  void note(const std::string& text);

  const RunPaths& paths_;
  RunOptions options_;
  std::ostringstream nobody_;
  Progress unseen_{nobody_, {.style = ProgressStyle::quiet}};
  Progress& progress_ = options_.progress != nullptr ? *options_.progress : unseen_;
  Recipe recipe_;
  DataSets own_data_;
  data::DataSet data_;
  std::unique_ptr<nn::Classifier> network_;
  std::unique_ptr<Training> training_;
  std::optional<DeviceMemory> device_memory_;  // on a GPU
  std::unique_ptr<Feed> train_feed_;
  std::unique_ptr<Feed> test_feed_;
  std::unique_ptr<Feed> validation_feed_;  // where images are held out
  RunLength length_;
  Position position_;
  std::optional<EventWriter> events_;
  std::optional<TensorBoardWriter> tensorboard_;
  std::optional<RegimeWatch> regimes_;
  std::deque<Chattering> windows_;  // whose events are to be written
  std::deque<double> pending_;      // learning rates of the steps whose events are to be written
  std::optional<Deterministic> deterministic_;
  std::optional<TrainingPrecision> precision_;
  EpochEvent last_epoch_;
  double best_accuracy_ = -1;  // of the epoch to keep, by the events
  Clock::time_point saved_at_ = Clock::now();
};

Run::Run(const RunFolder& folder, const RunOptions& options, Recipe recipe, std::optional<SavedRun> saved,
         EventFile before)
    : paths_(folder.paths()), options_(options), recipe_(std::move(recipe)) {
  use_threads(recipe_.train.threads);
  const auto device = device_named(recipe_.train.device);
  if (recipe_.train.deterministic) deterministic_.emplace();
  precision_.emplace(precision_of(recipe_), device.is_cuda());
  reset_peak_memory();
  if (device.is_cuda()) device_memory_.emplace(device);
  auto& sets = options_.data != nullptr ? *options_.data : own_data_;
  data_ = sets.open(recipe_.data);
  torch::manual_seed(static_cast<std::uint64_t>(recipe_.seed));
  // What a run has started from, weights and the brakes of another run, is needed no more once it is under
  // way.
  auto start = recipe_;
  if (saved) start.model.weights.clear();
  auto network = make_network(start, data_, LastLayer::may_be_replaced);
  network_ = std::move(network.classifier);
  network_->module().to(device);
  network_->module().train();
  training_ = std::make_unique<Training>(objective_of(*network_), recipe_,
                                         saved ? std::vector<double>() : brakes_of_control(recipe_));
  if (saved) {
    try {
      position_ = load_checkpoint(saved->file, network_->module(), *training_);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", saved->path.string(), error.what()));
    }
    if (!saved->instead.empty()) {
      progress_.warn(saved->instead);
      // What is kept as the one before the last is then this one, not the damaged one.
      base::name_also(saved->path, paths_.checkpoint());
    }
  } else if (const auto steps = steps_without_checkpoint(paths_); steps > 0) {
    progress_.warn(
        fmt::format("{} starts again from step 0, because it has no checkpoint; it had come to step {}.",
                    paths_.folder.string(), steps));
  }
  train_feed_ = open_feed(data_.train, loader_options(recipe_, data_, true), device);
  test_feed_ = open_feed(data_.test, loader_options(recipe_, data_, false), device);
  if (data_.validation)
    validation_feed_ = open_feed(data_.validation, loader_options(recipe_, data_, false), device);
  const auto batches = train_feed_->batches();
  length_ = {(batches + recipe_.train.accumulate - 1) / recipe_.train.accumulate, recipe_.train.epochs};
  if (position_.step() != position_.epoch * length_.steps_per_epoch + position_.this_epoch.steps)
    throw Error(
        fmt::format("{} has another number of images than when the run was stopped: put the right data back, "
                    "or start the "
                    "run anew (sadam train {}).",
                    recipe_.data.name, paths_.recipe().string()));
  position_.recipe = to_toml(recipe_);
  if (position_.tensorboard.bytes == 0 || is_tensorboard_lost(position_, paths_)) {
    if (position_.tensorboard.bytes > 0) progress_.warn(tensorboard_made_anew(paths_));
    tensorboard_.emplace(paths_.tensorboard_file(), 0);
    write_tensorboard(*tensorboard_, recipe_, before, length_.steps_per_epoch);
  } else {
    tensorboard_.emplace(paths_.tensorboard_file(), position_.tensorboard.bytes);
  }
  events_.emplace(paths_.events(), position_.events.bytes);
  if (recipe_.watch.regimes > 0) {
    regimes_.emplace(recipe_.watch.regimes);
    // What it has seen is in the events: it goes on as if it had never stopped.
    for (const auto& step : before.steps) regimes_->add(step);
  }
  if (!before.epochs.empty()) last_epoch_ = before.epochs.back();
  if (const auto* const best = epoch_to_keep(before.epochs)) best_accuracy_ = accuracy_to_keep_by(*best);
  if (!network.replaced.empty())
    note(fmt::format("the last layer starts anew, because {} has one for other classes",
                     recipe_.model.weights));
}

Outcome Run::go() {
  const auto pixels = data_.train->pixels();
  progress_.start(paths_.folder.string(), {.epochs = length_.epochs,
                                           .steps_per_epoch = length_.steps_per_epoch,
                                           .steps_done = position_.step(),
                                           .pixels = static_cast<std::int64_t>(pixels),
                                           .scaled = data::is_scaled(recipe_.data.name, pixels),
                                           .steps_per_evaluation = steps_per_evaluation()});
  if (const auto sentence = warmup_beyond_the_run(recipe_.schedule, length_); !sentence.empty())
    progress_.warn(sentence);
  if (const auto least = std::max(recipe_.watch.chatter, kLeastBlocks * recipe_.watch.regimes);
      least > length_.steps())
    progress_.warn(
        fmt::format("the run has {} steps, and what it watches takes {}: some of it will say nothing.",
                    length_.steps(), least));
  while (position_.epoch < length_.epochs) {
    if (!train_epoch() || !finish_epoch()) {
      save();
      progress_.finish();
      return Outcome::stopped;
    }
  }
  progress_.finish();
  return Outcome::finished;
}

// A forward pass is a third of a step without probes.
double Run::steps_per_evaluation() const {
  const auto images =
      static_cast<double>(data_.test->size() + (data_.validation ? data_.validation->size() : 0));
  return images / static_cast<double>(recipe_.train.batch * recipe_.train.accumulate) / 3;
}

bool Run::train_epoch() {
  if (position_.this_epoch.steps >= length_.steps_per_epoch) return true;  // stopped while it was evaluated
  train_feed_->start(position_.epoch, position_.this_epoch.steps * recipe_.train.accumulate);
  while (steps_taken() < length_.steps_per_epoch) {
    if (stop_requested()) return false;
    take_step();
    if (checkpoint_is_due()) save();
  }
  return true;
}

void Run::take_step() {
  const auto start = Clock::now();
  const auto taken = position_.step() + static_cast<std::int64_t>(pending_.size());
  const double lr = recipe_.optimizer.lr * schedule_factor(recipe_.schedule, taken, length_);
  training_->step(train_feed_->next(recipe_.train.accumulate), lr);
  if (position_.epoch + 1 >= recipe_.average.from) training_->update_average();
  if (taken == 0 && device_memory_)
    events_->write(NoteEvent{
        fmt::format("images live on the {}; {}", train_feed_->home(), training_->way_of_stepping())});
  pending_.push_back(lr);
  position_.train_seconds += seconds_since(start);
  write_events(steps_taken() == length_.steps_per_epoch);
}

void Run::write_events(bool all) {
  if (pending_.empty() || (device_memory_ && !all && pending_.size() < kLot)) return;
  const auto start = Clock::now();
  const auto summaries = training_->optimizer().take_summaries();
  position_.train_seconds += seconds_since(start);  // on a GPU this waits for the steps
  if (auto* const meter = training_->chatter()) {
    const auto ended = meter->take();
    windows_.insert(windows_.end(), ended.begin(), ended.end());
  }
  for (const auto& summary : summaries) write_event(summary);
}

void Run::write_event(const StepSummary& summary) {
  StepEvent event;
  event.step = position_.step() + 1;
  event.epoch = position_.epoch + 1;
  event.loss = summary.loss;
  event.lr = pending_.front();
  pending_.pop_front();
  event.lgi = summary.lgi;
  event.brake = summary.brake;
  event.probed = summary.probed;
  event.within_noise = summary.within_noise;
  event.skipped = summary.skipped;
  event.non_finite_probes = summary.non_finite_probes;
  event.probe_seconds = summary.probe_seconds;
  event.residual = residual_of(summary);
  if (recipe_.optimizer.group_by_group && optimizer_of(recipe_) == OptimizerKind::sadam) {
    event.group_lgi = summary.group_lgi;
    event.group_brakes = summary.group_brakes;
  }
  position_.run.add(event);
  position_.this_epoch.add(event);
  if (std::isfinite(event.loss)) {
    position_.loss_sum += event.loss;
    ++position_.finite_losses;
  }
  position_.lgi_sum += event.lgi;
  position_.brake_sum += event.brake;
  events_->write(event);
  if (event.step % tensorboard_interval(length_.steps_per_epoch) == 0) tensorboard_->step(event, wall_time());
  if (recipe_.watch.chatter > 0 && event.step % recipe_.watch.chatter == 0) write_chatter(event.step);
  if (regimes_) {
    for (const auto& change : regimes_->add(event)) {
      events_->write(change);
      progress_.note(fmt::format("step {}: {} went from {:.3g} to {:.3g}", event.step,
                                 change.quantity == "lgi" ? "ρ" : "the residual", change.before,
                                 change.after));
    }
  }
  progress_.step(event, position_.train_seconds);
}

void Run::write_chatter(std::int64_t step) {
  const auto window = windows_.front();
  windows_.pop_front();
  const ChatterEvent event{step, recipe_.watch.chatter, window.chatter, window.flips};
  events_->write(event);
  tensorboard_->chatter(event, wall_time());
}

// Evaluates and writes what the epoch came to. False, and nothing changed, if it was told to stop meanwhile.
bool Run::finish_epoch() {
  const auto start = Clock::now();
  const auto all = test_feed_->batches() + (validation_feed_ ? validation_feed_->batches() : 0);
  const auto evaluated = [&](Feed& feed, std::int64_t before) {
    const auto averaged = training_->use_average();
    return evaluate(*network_, feed, {.stop = options_.stop, .done = [&](std::int64_t done) {
                                        progress_.evaluating(before + done, all);
                                      }});
  };
  const auto test = evaluated(*test_feed_, 0);
  if (!test) return false;
  std::optional<Evaluation> validation;
  if (validation_feed_) {
    validation = evaluated(*validation_feed_, test_feed_->batches());
    if (!validation) return false;
  }
  position_.evaluate_seconds += seconds_since(start);

  const auto counts = std::exchange(position_.this_epoch, {});
  const auto steps = static_cast<double>(counts.steps);
  EpochEvent event;
  event.epoch = ++position_.epoch;
  event.step = position_.step();
  event.train_loss = position_.loss_sum / static_cast<double>(position_.finite_losses);
  event.test_loss = test->loss;
  event.test_accuracy = test->accuracy;
  event.mean_lgi = position_.lgi_sum / steps;
  event.mean_brake = position_.brake_sum / steps;
  event.train_seconds = position_.train_seconds;
  event.evaluate_seconds = position_.evaluate_seconds;
  event.peak_memory = device_memory_ ? device_memory_->peak() : peak_memory();
  if (validation) {
    event.validation_loss = validation->loss;
    event.validation_accuracy = validation->accuracy;
  }
  position_.loss_sum = position_.lgi_sum = position_.brake_sum = 0;
  position_.finite_losses = 0;
  events_->write(event);
  tensorboard_->epoch(event, std::exchange(last_epoch_, event), wall_time());
  save();
  keep_if_best(event);
  progress_.epoch(event, counts);
  if (position_.epoch == length_.epochs) {
    for (const auto& sentence : sentences(position_.run)) progress_.warn(sentence);
    if (const auto sentence = divergence(event, counts); !sentence.empty()) progress_.warn(sentence);
  }
  return true;
}

void Run::note(const std::string& text) {
  events_->write(NoteEvent{text});
  progress_.note(text);
}

bool Run::checkpoint_is_due() const {
  if (recipe_.train.checkpoint_every > 0)
    return (position_.step() + static_cast<std::int64_t>(pending_.size())) % recipe_.train.checkpoint_every ==
           0;
  return seconds_since(saved_at_) > 60;
}

void Run::save() {
  write_events(true);
  position_.events = events_->sync();
  position_.tensorboard = tensorboard_->sync();
  base::write_file_and_keep_previous(paths_.checkpoint(),
                                     make_checkpoint(position_, network_->module(), *training_),
                                     paths_.previous_checkpoint());
  saved_at_ = Clock::now();
}

// A run that is killed before it gets here does it when it is resumed (keep_best).
void Run::keep_if_best(const EpochEvent& event) {
  if (!(accuracy_to_keep_by(event) > best_accuracy_)) return;
  best_accuracy_ = accuracy_to_keep_by(event);
  base::name_also(paths_.checkpoint(), paths_.best_checkpoint());
}

// What happened until a checkpoint was made.
EventFile events_until(const Position& position, const RunPaths& paths) {
  const auto bytes = base::read_file(paths.events());
  return read_events(std::span(bytes).first(static_cast<std::size_t>(position.events.bytes)));
}

// A checkpoint at the end of the best epoch is that of the best epoch.
void keep_best(const SavedRun& saved, const EventFile& events, const RunPaths& paths) {
  const auto* const best = epoch_to_keep(events.epochs);
  const auto& position = saved.position;
  if (best != nullptr && best->epoch == position.epoch && position.this_epoch.steps == 0)
    base::name_also(saved.path, paths.best_checkpoint());
}

// Of a run that is finished.
void restore_tensorboard(SavedRun& saved, const Recipe& recipe, const EventFile& events,
                         const RunPaths& paths, const RunOptions& options) {
  if (options.progress != nullptr) options.progress->warn(tensorboard_made_anew(paths));
  TensorBoardWriter file(paths.tensorboard_file(), 0);
  write_tensorboard(file, recipe, events, events.epochs.front().step);
  saved.position.tensorboard = file.sync();
  base::write_file_atomically(saved.path, seal(to_meta(saved.position), open_envelope(saved.file).payload));
}

}  // namespace

Outcome continue_run(const RunFolder& folder, const RunOptions& options) {
  const auto& paths = folder.paths();
  const auto recipe = recipe_of(paths);
  auto saved = read_checkpoint(paths, recipe);
  EventFile before;
  if (saved) {
    check_unchanged_since(saved->position.events, paths.events());
    before = events_until(saved->position, paths);
    keep_best(*saved, before, paths);
    if (saved->position.epoch >= recipe.train.epochs) {
      if (is_tensorboard_lost(saved->position, paths))
        restore_tensorboard(*saved, recipe, before, paths, options);
      return Outcome::was_finished;
    }
  }
  std::optional<ShownWarnings> warnings;
  if (options.progress != nullptr) warnings.emplace(*options.progress);
  return within_memory([&] {
    Run run(folder, options, recipe, std::move(saved),
            std::move(before));  // the file's bytes go with the constructor
    return run.go();
  });
}

ShownWarnings::ShownWarnings(Progress& progress)
    : progress_(progress), before_(torchs::get_warning_handler()) {
  torchs::set_warning_handler(this);
}

ShownWarnings::~ShownWarnings() { torchs::set_warning_handler(before_); }

void ShownWarnings::show(const std::string& text) const {
  std::string_view sentence = text;
  constexpr std::string_view kOurs = "sadam: ";
  if (sentence.starts_with(kOurs)) {
    sentence.remove_prefix(kOurs.size());
    if (sentence.find(" skipped so far, ") != std::string_view::npos) return;
  }
  progress_.warn(sentence);
}

}  // namespace sadam::train
