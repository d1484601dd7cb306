// Dropout that draws an eighth of the random numbers.
#pragma once

#include <ATen/core/Tensor.h>

namespace sadam::nn {

/// Dropout: in training each element is zero with probability p (below 1) and divided by 1 − p otherwise;
/// else x itself. On the CPU drawing takes nearly all of its time, and torch draws 64 bits for each element.
/// Here an element takes one byte, where p is a multiple of 1/256 (a quarter is); for any other p, and on
/// other devices, this is torch's dropout. Either way the numbers come from torch's default generator: who
/// restores that replays the mask.
at::Tensor byte_dropout(const at::Tensor& x, double p, bool training);

}  // namespace sadam::nn
