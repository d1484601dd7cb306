// events.jsonl: what happened in a run, one JSON object a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "train/record/file_mark.h"

namespace sadam::train {

/// One optimizer step. Written as {"event": "step", "step": …}. Numbers that are not finite are written as
/// null and read back as NaN. Fields that end in `_seconds` are the only ones that may differ between two
/// runs of one recipe.
struct StepEvent {
  std::int64_t step = 0;   ///< from 1
  std::int64_t epoch = 0;  ///< from 1
  double loss = 0;
  double lr = 0;
  double lgi = 0;    ///< ρ
  double brake = 1;  ///< α
  bool probed = false;
  bool within_noise = false;
  bool skipped = false;
  std::int64_t non_finite_probes = 0;
  double probe_seconds = 0;
};

/// The end of an epoch, after evaluation.
struct EpochEvent {
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t step = 0;   ///< steps taken so far
  double train_loss = 0;   ///< mean over the epoch's steps whose loss was finite
  double test_loss = 0;
  double test_accuracy = 0;  ///< between 0 and 1
  double mean_lgi = 0;
  double mean_brake = 1;
  double train_seconds = 0;      ///< since the start of the run, evaluation and pauses left out
  double evaluate_seconds = 0;   ///< since the start of the run
  std::int64_t peak_memory = 0;  ///< of the process so far, in bytes. May differ between runs too
};

struct NoteEvent {
  std::string text;
};

using Event = std::variant<StepEvent, EpochEvent, NoteEvent>;

/// The line, with its line feed.
std::string to_line(const Event& event);

struct EventFile {
  std::vector<StepEvent> steps;
  std::vector<EpochEvent> epochs;
  std::vector<NoteEvent> notes;
  /// The number of the last line if it has no line feed: a run that was killed while it wrote. It is not
  /// read.
  std::size_t cut_line = 0;
};

/// Throws an Error that names the line for anything else that is not an event. Unknown fields and unknown
/// kinds of events are passed over, so that newer files can be read.
EventFile read_events(std::span<const std::byte> bytes);
EventFile read_events(const std::filesystem::path& path);

/// Appends events. Throws an Error that names the file when the disk is full or the folder cannot be written.
class EventWriter {
 public:
  /// Cuts the file back to `keep` bytes first (a resumed run; a shorter file is an Error), or makes a new
  /// one.
  EventWriter(const std::filesystem::path& path, std::uint64_t keep);
  EventWriter(EventWriter&&) noexcept;
  ~EventWriter();

  void write(const Event& event);
  /// Everything written so far is on disk; returns how far that is.
  FileMark sync();

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace sadam::train
