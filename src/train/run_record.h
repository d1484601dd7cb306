// What a run leaves in its folder while it goes: events, TensorBoard's file, checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "train/checkpoint.h"
#include "train/recipe/recipe.h"
#include "train/record/events.h"
#include "train/record/run_folder.h"
#include "train/regimes.h"

namespace sadam::train {

class Progress;

class RunRecord {
 public:
  /// Goes on where the position says. `before`: what has happened until then.
  RunRecord(const RunPaths& paths, const Recipe& recipe, const Position& position, const EventFile& before,
            std::int64_t steps_per_epoch, Progress& progress);

  void step(const StepEvent& event);
  void chatter(const ChatterEvent& event);
  void epoch(const EpochEvent& event);
  /// For the record, and, unless it is for the record alone, for people.
  void note(const std::string& text, bool shown = true);

  /// Says in the position how far the files have come, all of it on disk.
  void mark(Position& position);
  void save(std::span<const std::byte> checkpoint);
  /// The checkpoint of an epoch that was just saved, if it is the best so far.
  void keep_if_best(const EpochEvent& event);

 private:
  const RunPaths& paths_;
  Progress& progress_;
  std::int64_t interval_;  ///< steps between points of TensorBoard's
  std::optional<AppendFile> events_;
  std::optional<TensorBoardWriter> tensorboard_;
  std::optional<RegimeWatch> regimes_;
  EpochEvent last_epoch_;
  double best_accuracy_ = -1;  // of the epoch to keep, by the events
};

/// What happened until the checkpoint was made, its file unchanged since. A checkpoint at the end of the best
/// epoch is that of the best epoch, from now on.
EventFile events_until(const SavedRun& saved, const RunPaths& paths);

/// Makes TensorBoard's file of a finished run anew, with a word to `progress` (may be null), if it is damaged
/// or gone.
void restore_tensorboard(SavedRun& saved, const Recipe& recipe, const EventFile& events,
                         const RunPaths& paths, Progress* progress);

}  // namespace sadam::train
