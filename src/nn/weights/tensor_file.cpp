#include "nn/weights/tensor_file.h"

#include <algorithm>
#include <limits>

namespace sadam::weights {

const Tensor* find(const TensorFile& file, std::string_view name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

std::optional<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; }))
    return std::nullopt;
  // A zero anywhere makes the product zero, also where the other sizes alone would overflow.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::size_t bytes = size(dtype);
  for (const auto size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max())) return std::nullopt;
  return bytes;
}

}  // namespace sadam::weights
