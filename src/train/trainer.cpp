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
#include <string_view>
#include <utility>

#include "base/file.h"
#include "data/random.h"
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
#include "train/run_record.h"
#include "train/schedule.h"
#include "train/setup.h"
#include "train/team.h"
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

// On a GPU each fetch of summaries waits for the device: they are fetched in lots.
constexpr std::size_t kLot = 128;

std::optional<double> residual_of(const StepSummary& summary) {
  if (!summary.probed || summary.slopes.empty()) return std::nullopt;
  double squares = 0;
  for (std::size_t i = 0; i < summary.slopes.size(); ++i) {
    const double residual = summary.differences[i] - summary.slopes[i];
    squares += residual * residual;
  }
  return std::sqrt(squares / static_cast<double>(summary.slopes.size()));
}

// A look at all weights; the ranks must have the same to the bit.
constexpr std::int64_t kStepsBetweenChecks = 100;

// A run that is under way.
class Run {
 public:
  /// `paths`: of the run's folder; null on a rank that has none. `before`: what has happened until the
  /// checkpoint.
  Run(const RunPaths* paths, const RunOptions& options, Team& team, Recipe recipe,
      std::optional<SavedRun> saved, const EventFile& before);
  Outcome go();

 private:
  /// Whether it is time to ask whether to stop. Ranks must ask each other, for which a GPU is waited for.
  bool asks_now() const {
    constexpr std::int64_t kSteps = 16;
    return team_.size() == 1 || !device_memory_ || steps_taken() % kSteps == 0;
  }
  bool stop_requested() const { return team_.any(options_.stop != nullptr && *options_.stop); }
  /// Whether a rank trains on a part of each batch.
  bool splits_batch() const { return split_of(recipe_) == Split::batch; }
  bool train_epoch();  ///< false: stopped before its end
  void take_step();
  /// Writes the events of steps whose numbers are known; of all that were taken, if asked.
  void write_events(bool all);
  void write_event(const StepSummary& summary);
  bool finish_epoch();
  /// Of this epoch.
  std::int64_t steps_taken() const {
    return position_.this_epoch.steps + static_cast<std::int64_t>(pending_.size());
  }
  /// On the rank that has the folder.
  void save();
  bool checkpoint_is_due() const;

  RunOptions options_;
  Team& team_;
  Progress unseen_;
  Progress& progress_ = options_.progress != nullptr ? *options_.progress : unseen_;
  Recipe recipe_;
  std::string name_;
  DataSets own_data_;
  data::DataSet data_;
  std::shared_ptr<nn::Classifier> network_;
  std::unique_ptr<Training> training_;
  std::optional<DeviceMemory> device_memory_;  // on a GPU
  std::unique_ptr<Feed> train_feed_;
  std::unique_ptr<Feed> test_feed_;
  std::unique_ptr<Feed> validation_feed_;  // where images are held out
  RunLength length_;
  Position position_;
  std::optional<RunRecord> record_;  // on the rank that has the folder
  std::deque<Chattering> windows_;   // whose events are to be written
  std::deque<double> pending_;       // learning rates of the steps whose events are to be written
  std::optional<Deterministic> deterministic_;
  std::optional<TrainingPrecision> precision_;
  Clock::time_point saved_at_ = Clock::now();
};

Run::Run(const RunPaths* paths, const RunOptions& options, Team& team, Recipe recipe,
         std::optional<SavedRun> saved, const EventFile& before)
    : options_(options), team_(team), recipe_(std::move(recipe)) {
  use_threads(recipe_.train.threads);
  const auto device = team_.place(recipe_.train.device);
  if (recipe_.train.deterministic) deterministic_.emplace();
  precision_.emplace(precision_of(recipe_), device.is_cuda());
  reset_peak_memory();
  if (device.is_cuda()) device_memory_.emplace(device);
  auto& sets = options_.data != nullptr ? *options_.data : own_data_;
  data_ = sets.open(recipe_.data);
  if (team_.size() > 1) team_.compare(checksum_of(data_), "other data", "put the same on every machine");
  torch::manual_seed(static_cast<std::uint64_t>(recipe_.seed));
  // What a run has started from, weights and the brakes of another run, is needed no more once it is under
  // way.
  auto start = recipe_;
  if (saved) start.model.weights.clear();
  auto network = make_network(start, data_, LastLayer::may_be_replaced);
  network_ = std::move(network.classifier);
  network_->to(device);
  network_->train();
  // Only rank 0 needs to have the run that a control is of.
  auto brakes = saved || !team_.leads() ? std::vector<double>() : brakes_of_control(recipe_);
  training_ =
      std::make_unique<Training>(objective_of(*network_), recipe_, team_.of_leader(std::move(brakes)));
  if (team_.size() > 1)
    training_->optimizer().join(
        team_.group_on(device),
        GroupOptions().split(split_of(recipe_)).check_ranks_every(kStepsBetweenChecks));
  if (saved) {
    position_ =
        naming_checkpoint(saved->path, [&] { return load_checkpoint(saved->file, *network_, *training_); });
    if (paths != nullptr && !saved->instead.empty()) {
      progress_.warn(saved->instead);
      // What is kept as the one before the last is then this one, not the damaged one.
      base::name_also(saved->path, paths->checkpoint());
    }
  } else if (paths != nullptr) {
    if (const auto steps = steps_without_checkpoint(*paths); steps > 0)
      progress_.warn(
          fmt::format("{} starts again from step 0, because it has no checkpoint; it had come to step {}.",
                      paths->folder.string(), steps));
  }
  const auto feed_of = [&](const std::shared_ptr<const data::ImageSet>& images, bool train) {
    auto of_this_rank = loader_options(recipe_, data_, train);
    if (!train || splits_batch()) {
      of_this_rank.part = static_cast<std::size_t>(team_.rank());
      of_this_rank.parts = static_cast<std::size_t>(team_.size());
      // A network may see a batch as a whole (QATNet quantizes it so): its accuracy is that of one process.
      of_this_rank.parts_take_turns = !train;
    }
    return open_feed(images, of_this_rank, device);
  };
  train_feed_ = feed_of(data_.train, true);
  test_feed_ = feed_of(data_.test, false);
  if (data_.validation) validation_feed_ = feed_of(data_.validation, false);
  const auto batches = train_feed_->batches();
  length_ = {(batches + recipe_.train.accumulate - 1) / recipe_.train.accumulate, recipe_.train.epochs};
  if (position_.step() != position_.epoch * length_.steps_per_epoch + position_.this_epoch.steps)
    throw Error(
        fmt::format("{} has another number of images than when the run was stopped: put the right data back, "
                    "or start the run anew{}.",
                    recipe_.data.name,
                    paths != nullptr ? fmt::format(" (sadam train {})", paths->recipe().string()) : ""));
  position_.recipe = to_toml(recipe_);
  if (paths == nullptr) return;
  name_ = paths->folder.string();
  record_.emplace(*paths, recipe_, position_, before, length_.steps_per_epoch, progress_);
  if (!network.replaced.empty())
    record_->note(fmt::format("the last layer starts anew, because {} has one for other classes",
                              recipe_.model.weights));
}

Outcome Run::go() {
  const auto pixels = data_.train->pixels();
  const auto evaluated =
      static_cast<double>(data_.test->size() + (data_.validation ? data_.validation->size() : 0));
  // A forward pass is a third of a step without probes.
  const double evaluation =
      evaluated / static_cast<double>(recipe_.train.batch * recipe_.train.accumulate) / 3;
  progress_.start(name_, {.epochs = length_.epochs,
                          .steps_per_epoch = length_.steps_per_epoch,
                          .steps_done = position_.step(),
                          .pixels = static_cast<std::int64_t>(pixels),
                          .scaled = data::is_scaled(recipe_.data.name, pixels),
                          .steps_per_evaluation = evaluation});
  if (const auto sentence = warmup_beyond_the_run(recipe_.schedule, length_); !sentence.empty())
    progress_.warn(sentence);
  if (const auto least = std::max(recipe_.watch.chatter, kLeastBlocks * recipe_.watch.regimes);
      least > length_.steps())
    progress_.warn(
        fmt::format("the run has {} steps, and what it watches takes {}: some of it will say nothing.",
                    length_.steps(), least));
  while (position_.epoch < length_.epochs) {
    if (!train_epoch() || !finish_epoch()) {
      if (record_) save();
      progress_.finish();
      return Outcome::stopped;
    }
  }
  progress_.finish();
  return Outcome::finished;
}

bool Run::train_epoch() {
  if (position_.this_epoch.steps >= length_.steps_per_epoch) return true;  // stopped while it was evaluated
  train_feed_->start(position_.epoch, position_.this_epoch.steps * recipe_.train.accumulate);
  while (steps_taken() < length_.steps_per_epoch) {
    if (asks_now() && stop_requested()) return false;
    take_step();
    if (record_ && checkpoint_is_due()) save();
  }
  return true;
}

void Run::take_step() {
  const auto start = Clock::now();
  const auto taken = position_.step() + static_cast<std::int64_t>(pending_.size());
  const double lr = recipe_.optimizer.lr * schedule_factor(recipe_.schedule, taken, length_);
  // The masks of a rank are a function of the seed, the step and the rank, so that a checkpoint need not have
  // the generators of all of them.
  if (splits_batch() && team_.size() > 1) {
    const auto number = static_cast<std::uint64_t>(taken * team_.size() + team_.rank());
    data::Random random(static_cast<std::uint64_t>(recipe_.seed), data::Purpose::masks_of_rank, number);
    torch::manual_seed(random.bits());
  }
  training_->step(train_feed_->next(recipe_.train.accumulate), lr);
  if (position_.epoch + 1 >= recipe_.average.from) training_->update_average();
  if (taken == 0 && device_memory_ && record_)
    record_->note(fmt::format("images live on the {}; {}", train_feed_->home(), training_->way_of_stepping()),
                  /*shown=*/false);
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
  if (record_) record_->step(event);
  if (recipe_.watch.chatter > 0 && event.step % recipe_.watch.chatter == 0) {
    const auto& window = windows_.front();
    if (record_) record_->chatter({event.step, recipe_.watch.chatter, window.chatter, window.flips});
    windows_.pop_front();
  }
  progress_.step(event, position_.train_seconds);
}

// Evaluates and writes what the epoch came to. False, and nothing changed, if it was told to stop meanwhile.
bool Run::finish_epoch() {
  const auto start = Clock::now();
  const auto all = test_feed_->batches() + (validation_feed_ ? validation_feed_->batches() : 0);
  // Each rank's batch norms have seen its own images: those of rank 0, which are saved, count.
  team_.share(network_->buffers());
  const auto evaluated = [&](Feed& feed, std::int64_t before) {
    const auto averaged = training_->use_average();
    return evaluate(*network_, feed,
                    {.stop = options_.stop,
                     .done = [&](std::int64_t done) { progress_.evaluating(before + done, all); },
                     .team = &team_});
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
  if (record_) {
    record_->epoch(event);
    save();
    record_->keep_if_best(event);
  }
  progress_.epoch(event, counts);
  if (position_.epoch == length_.epochs) {
    for (const auto& sentence : sentences(position_.run)) progress_.warn(sentence);
    if (const auto sentence = divergence(event, counts); !sentence.empty()) progress_.warn(sentence);
  }
  return true;
}

bool Run::checkpoint_is_due() const {
  if (const auto every = recipe_.train.checkpoint_every; every > 0)
    return (position_.step() + static_cast<std::int64_t>(pending_.size())) % every == 0;
  return seconds_since(saved_at_) > 60;
}

void Run::save() {
  write_events(true);
  record_->mark(position_);
  record_->save(make_checkpoint(position_, *network_, *training_));
  saved_at_ = Clock::now();
}

}  // namespace

Outcome continue_run(const RunFolder& folder, const RunOptions& options) {
  const auto& paths = folder.paths();
  const auto recipe = recipe_of(paths);
  auto saved = read_checkpoint(paths, recipe);
  EventFile before;
  if (saved) {
    before = events_until(*saved, paths);
    if (saved->position.epoch >= recipe.train.epochs) {
      restore_tensorboard(*saved, recipe, before, paths, options.progress);
      if (options.team != nullptr) options.team->dismiss();
      return Outcome::was_finished;
    }
  }
  std::optional<ShownWarnings> warnings;
  if (options.progress != nullptr) warnings.emplace(*options.progress);
  std::optional<LocalRanks> started;
  if (options.team == nullptr && recipe.train.processes > 1)
    started.emplace(static_cast<int>(recipe.train.processes));
  Team alone;
  auto& team = options.team != nullptr ? *options.team : started ? started->team() : alone;
  try {
    team.announce(to_toml(recipe),
                  saved ? std::span<const std::byte>(saved->file) : std::span<const std::byte>());
    return within_memory([&] {
      Run run(&paths, options, team, recipe, std::move(saved), before);
      return run.go();
    });
  } catch (const Error& error) {
    if (!started) throw;
    throw Error(started->explanation(error));
  }
}

Outcome help_with_run(Team& team, const RunOptions& options) {
  auto work = team.wait_for_work();
  if (!work) return Outcome::was_finished;
  const auto recipe = recipe_in(work->recipe, "the recipe of rank 0");
  std::optional<SavedRun> saved;
  if (!work->checkpoint.empty())
    saved = SavedRun{"the checkpoint of rank 0", std::move(work->checkpoint), {}, {}};
  Progress unseen;
  const ShownWarnings warnings(unseen);  // rank 0 shows them
  return within_memory([&] {
    Run run(nullptr, options, team, recipe, std::move(saved), {});
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
