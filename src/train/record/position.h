// Where a run stands: everything that a checkpoint holds beside weights, optimizer and random generator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "train/record/file_mark.h"
#include "train/record/run_folder.h"
#include "train/record/step_counts.h"

namespace sadam::train {

struct Position {
  std::int64_t epoch = 0;  ///< whole epochs behind it, evaluated
  StepCounts run;          ///< of all steps taken
  StepCounts this_epoch;   ///< of those in the epoch that is under way
  // Sums over those steps, for the epoch's means.
  double loss_sum = 0;
  std::int64_t finite_losses = 0;  ///< how many the sum is of: a loss that is not finite would spoil it
  double lgi_sum = 0;
  double brake_sum = 0;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  /// How far the files had come: a resumed run cuts them back to this, once it has seen that they are the
  /// same.
  FileMark events;
  FileMark tensorboard;
  std::string recipe;  ///< in TOML, every field: what goes on with this must be told the same

  std::int64_t step() const { return run.steps; }
};

/// As a JSON object.
std::string to_meta(const Position& position);

/// Throws an Error for what is none.
Position from_meta(std::string_view meta);

/// How far the last checkpoint of a run has come; nothing if there is none or it is damaged.
std::optional<Position> saved_position(const RunPaths& paths);

}  // namespace sadam::train
