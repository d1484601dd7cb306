// A tensor of a weight file by its name.
#pragma once

#include <algorithm>
#include <string_view>

#include "nn/weights/tensor_file.h"

namespace sadam::weights {

/// Or nullptr.
inline const Tensor* find(const TensorFile& file, std::string_view name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

}  // namespace sadam::weights
