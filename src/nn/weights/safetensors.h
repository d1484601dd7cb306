// safetensors: eight bytes of header length, a JSON header, then the elements of all tensors.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// The tensors point into `file`, which must outlive them. Throws an Error that says what is wrong with the
/// file. As in the format's own reader, the tensors must fill the data without gap or overlap.
TensorFile read_safetensors(std::span<const std::byte> file);

/// The bytes of a safetensors file. Wider elements are laid out first, so that all are aligned; otherwise the
/// order is kept. Throws an Error for a name that is used twice or is not UTF-8, and for bytes that do not
/// fit the shape.
std::vector<std::byte> write_safetensors(std::span<const Tensor> tensors,
                                         const std::map<std::string, std::string>& metadata = {});

}  // namespace sadam::weights
