// Where a run stands, in one file: weights, optimizer, random generator, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/record/run_folder.h"

namespace torch::nn {
class Module;
}

namespace sadam::train {

class Stepper;

/// Everything a run knows about itself beside its weights.
struct Position {
  std::int64_t step = 0;         ///< steps taken
  std::int64_t epoch = 0;        ///< whole epochs behind it, evaluated
  std::int64_t epoch_steps = 0;  ///< steps taken in the epoch that is under way
  // Sums over those steps, for the epoch's means.
  double loss_sum = 0;
  double lgi_sum = 0;
  double brake_sum = 0;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  // How long the files were: a resumed run cuts them back to this.
  std::uint64_t events_bytes = 0;
  std::uint64_t tensorboard_bytes = 0;
};

/// The bytes of a checkpoint file.
std::vector<std::byte> make_checkpoint(const Position& position, const torch::nn::Module& module,
                                       const Stepper& stepper);

/// Puts weights, optimizer and torch's generator back. Throws an Error for a damaged file, or one that does
/// not fit.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module, Stepper& stepper);

/// The weights alone.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module);

/// How far the last checkpoint of a run has come; nothing if there is none or it is damaged.
std::optional<Position> saved_position(const RunPaths& paths);

}  // namespace sadam::train
