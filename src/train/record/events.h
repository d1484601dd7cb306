// What happened in a run, written down as it goes: events.jsonl, one JSON object a line, and TensorBoard's
// file. Readers take bytes and need no libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "train/record/run_folder.h"

namespace sadam::train {

/// One optimizer step. Written as {"event": "step", "step": …}. Numbers that are not finite are written as
/// null and read back as NaN. Fields that end in `_seconds` are the only ones that may differ between two
/// runs of one recipe.
struct StepEvent {
  static constexpr const char* kName = "step";  ///< in its line
  std::int64_t step = 0;                        ///< from 1
  std::int64_t epoch = 0;                       ///< from 1
  double loss = 0;
  double lr = 0;
  double lgi = 0;    ///< ρ
  double brake = 1;  ///< α
  bool probed = false;
  bool within_noise = false;
  bool skipped = false;
  std::int64_t non_finite_probes = 0;
  double probe_seconds = 0;
  /// What the gradient does not foretell: the root mean square of D − ⟨g,u⟩ over the probes. Only where the
  /// statistic takes the slopes.
  std::optional<double> residual = {};
  // Of each group of parameters, where they are probed one by one; else empty.
  std::vector<double> group_lgi = {};
  std::vector<double> group_brakes = {};
};

/// The end of an epoch, after evaluation.
struct EpochEvent {
  static constexpr const char* kName = "epoch";  ///< in its line
  std::int64_t epoch = 0;                        ///< from 1
  std::int64_t step = 0;                         ///< steps taken so far
  double train_loss = 0;                         ///< mean over the epoch's steps whose loss was finite
  double test_loss = 0;
  double test_accuracy = 0;  ///< between 0 and 1
  double mean_lgi = 0;
  double mean_brake = 1;
  double train_seconds = 0;      ///< since the start of the run, evaluation and pauses left out
  double evaluate_seconds = 0;   ///< since the start of the run
  std::int64_t peak_memory = 0;  ///< of the process so far, in bytes. May differ between runs too
  // On the validation images, where there are any.
  std::optional<double> validation_loss = {};
  std::optional<double> validation_accuracy = {};
};

/// How much the weights went back and forth (train/chatter.h) in the steps of a window; after its last step.
struct ChatterEvent {
  static constexpr const char* kName = "chatter";  ///< in its line
  std::int64_t step = 0;                           ///< the last of the window
  std::int64_t window = 0;                         ///< steps
  double chatter = 0;                              ///< 1 − net displacement / length of the path
  double flips = 0;                                ///< share of coordinates whose update changed its sign
};

/// ρ, or the residual, changed its level (train/regimes.h).
struct RegimeEvent {
  static constexpr const char* kName = "regime";  ///< in its line
  std::int64_t step = 0;                          ///< where it was noticed
  std::string quantity;                           ///< "lgi" or "residual"
  double before = 0;                              ///< its mean until then
  double after = 0;                               ///< its mean in the blocks that raised the alarm
  double score = 0;  ///< in standard deviations of the rank sum; above 0: it rose
};

struct NoteEvent {
  static constexpr const char* kName = "note";  ///< in its line
  std::string text;
};

using Event = std::variant<StepEvent, EpochEvent, ChatterEvent, RegimeEvent, NoteEvent>;

/// The line, with its line feed.
std::string to_line(const Event& event);

/// From a line without its line feed; nothing for a kind of event that is not known. Throws an Error that
/// names the line by its number for what is no event.
std::optional<Event> read_event(std::string_view line, std::size_t number);

struct EventFile {
  std::vector<StepEvent> steps;
  std::vector<EpochEvent> epochs;
  std::vector<ChatterEvent> chatter;
  std::vector<RegimeEvent> regimes;
  std::vector<NoteEvent> notes;
  /// The number of the last line if it has no line feed: a run that was killed while it wrote. It is not
  /// read.
  std::size_t cut_line = 0;

  void add(Event event);
};

/// Throws an Error that names the line for anything else that is not an event. Unknown fields and unknown
/// kinds of events are passed over, so that newer files can be read.
EventFile read_events(std::span<const std::byte> bytes);
EventFile read_events(const std::filesystem::path& path);

/// A file of events that is read while it grows. Each call of read() goes on where the last one ended. A line
/// that is not an event is passed over and counted; one without its line feed is waited for.
class EventTail {
 public:
  explicit EventTail(std::filesystem::path path) : path_(std::move(path)) {}

  /// Calls `visit` for each event that has come since. Where the file was cut back or replaced since, as a
  /// resumed run does, or is gone, `restart` is called first: everything visited so far is void. Throws an
  /// Error for a file that is there and cannot be read.
  void read(const std::function<void(const Event&)>& visit, const std::function<void()>& restart);

  std::size_t broken_lines() const { return broken_lines_; }
  /// Of the first of them, as read_events() says it; "" if there are none.
  const std::string& problem() const { return problem_; }
  /// The number of the last line if it has no line feed yet; else 0.
  std::size_t cut_line() const { return rest_.empty() && !skipping_ ? 0 : lines_ + 1; }

 private:
  bool goes_on(int file, std::uint64_t device, std::uint64_t inode, std::uint64_t size) const;
  void take(std::string_view bytes, const std::function<void(const Event&)>& visit);
  void take_line(std::string_view line, const std::function<void(const Event&)>& visit);
  void note_broken(const std::string& problem);

  std::filesystem::path path_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;  ///< bytes read so far
  std::string last_;          ///< the last of them, by which a file that was rewritten is noticed
  std::string rest_;          ///< the beginning of a line whose end has not come yet
  bool skipping_ = false;     ///< that line is longer than any event: its end is waited for, and no more
  std::size_t lines_ = 0;     ///< whole ones
  std::size_t broken_lines_ = 0;
  std::string problem_;
};

/// The epoch of the highest test accuracy, the first of equals; null if there is none.
const EpochEvent* best_of(const std::vector<EpochEvent>& epochs);
/// The same by the accuracy on the validation images.
const EpochEvent* best_validated(const std::vector<EpochEvent>& epochs);
/// The one whose checkpoint is best.pt: by the validation images where there are any, else by the test set.
const EpochEvent* epoch_to_keep(const std::vector<EpochEvent>& epochs);

/// A field of a recipe and its value.
using Hyperparameter = std::pair<std::string, std::variant<std::string, double, bool>>;

/// Throws an Error if something else than a folder is where the files of TensorBoard belong.
void check_tensorboard_place(const std::filesystem::path& folder);

/// Records framed by length and masked CRC-32C, each a protobuf Event (tensorboard.cpp). The points of an
/// event are the same whether it was just written or read from events.jsonl.
class TensorBoardWriter {
 public:
  /// As AppendFile's; a new file begins with the version record.
  TensorBoardWriter(const std::filesystem::path& path, std::uint64_t keep);

  void scalar(std::string_view tag, std::int64_t step, double value, double wall_time);
  void step(const StepEvent& event, double wall_time);
  /// `before`: the epoch before it, or an empty one.
  void epoch(const EpochEvent& event, const EpochEvent& before, double wall_time);
  void chatter(const ChatterEvent& event, double wall_time);
  /// What the run was told: as TOML under "Text", by its fields under "HParams".
  void recipe(std::string_view toml, const std::vector<Hyperparameter>& fields, double wall_time);
  FileMark sync() { return file_.sync(); }

 private:
  AppendFile file_;
};

/// What went wrong in the steps of a run or an epoch, counted, so that none of it is silent.
struct StepCounts {
  std::int64_t steps = 0;
  std::int64_t skipped = 0;       ///< loss or gradient not finite: weights and state untouched
  std::int64_t probed = 0;        ///< probes were evaluated
  std::int64_t within_noise = 0;  ///< of those: the probes differed from the loss by no more than rounding
  std::int64_t non_finite_probes = 0;  ///< probes, not steps

  void add(const StepEvent& step);
  bool operator==(const StepCounts&) const = default;
};

/// A sentence for each kind of trouble that there was.
std::vector<std::string> sentences(const StepCounts& run);

/// That a run is of no use, and what to try, from its last epoch; "" if it is not so.
std::string divergence(const EpochEvent& last, const StepCounts& last_epoch);

}  // namespace sadam::train
