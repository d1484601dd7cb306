// Where a run stands, in one file: weights, optimizer, random generator, and how far it has come.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "train/record/checkpoint_file.h"

namespace torch::nn {
class Module;
}

namespace sadam::train {

class Training;

/// The bytes of a checkpoint file.
std::vector<std::byte> make_checkpoint(const Position& position, const torch::nn::Module& module,
                                       const Training& training);

/// Puts weights, optimizer and torch's generator back. Throws an Error for a damaged file, or one that does
/// not fit.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module, Training& training);

/// The weights alone.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module);

}  // namespace sadam::train
