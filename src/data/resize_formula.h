// The arithmetic of resizing, one text for the CPU's loops (data/resize.cpp) and the GPU's kernel.
#pragma once

#include <cstdint>

#include "kernels/math.h"

namespace sadam::data {

// Weights are integers out of 2^22, so that 255 times their sum still fits 32 bits with room for rounding;
// each of the two passes rounds to a byte. These choices are Pillow's, and what makes the results equal.
constexpr int kWeightBits = 22;

/// What a sum of weighted bytes starts from, so that cutting its low bits off rounds.
constexpr std::int32_t kHalfWeight = std::int32_t{1} << (kWeightBits - 1);

SADAM_HD std::uint8_t rounded_byte(std::int32_t sum) {
  const std::int32_t whole = sum >> kWeightBits;
  return static_cast<std::uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
}

}  // namespace sadam::data
