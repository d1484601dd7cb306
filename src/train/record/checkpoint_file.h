// A checkpoint file without its weights: the envelope around it, and where the run stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/record/events.h"
#include "train/record/run_folder.h"

namespace sadam::train {

/// What a checkpoint is wrapped in, so that nothing damaged is ever parsed: magic, version, lengths,
/// checksum.
struct Envelope {
  std::string_view meta;               ///< a small JSON object, for us
  std::span<const std::byte> payload;  ///< the archive, for torch
};

std::vector<std::byte> seal(std::string_view meta, std::span<const std::byte> payload);

/// A checkpoint that a newer sadam wrote: whole, for all that is known.
class NewerCheckpoint : public Error {
 public:
  using Error::Error;
};

/// Points into `bytes`. Throws an Error for bytes that are not an envelope, cut short, longer than they say,
/// from a newer version (NewerCheckpoint), or whose checksum does not fit. Nothing is allocated by a length
/// that is not true.
Envelope open_envelope(std::span<const std::byte> bytes);

/// Where a run stands: everything that a checkpoint holds beside weights, optimizer and random generator.
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
