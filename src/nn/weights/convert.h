// Elements of a weight file as float32.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// Both are exact: every value of the narrow type, subnormals and infinities included, is a float32. A NaN
/// stays one and keeps its sign and payload.
float float16_to_float32(std::uint16_t bits);
float bfloat16_to_float32(std::uint16_t bits);

/// The elements of a float16, bfloat16, float32 or float64 tensor; the last is rounded to nearest. Any other
/// type is refused: it holds counts, not weights.
std::vector<float> to_float32(const Tensor& tensor);

}  // namespace sadam::weights
