// What a weight file holds, whatever its format: named tensors as plain bytes. No libtorch here, so that the
// readers can be fuzzed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/weights/dtype.h"

namespace sadam::weights {

struct Tensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;  ///< empty for a scalar; no size is negative
  /// The elements, little-endian, row by row, of no particular alignment: exactly the product of the shape
  /// times the size of an element.
  std::span<const std::byte> bytes;
};

struct TensorFile {
  std::vector<Tensor> tensors;                  ///< in the file's order; no name occurs twice
  std::map<std::string, std::string> metadata;  ///< safetensors' `__metadata__`; empty for .pth

  /// What `Tensor::bytes` points into where that is not the caller's buffer: tensors that were not contiguous
  /// in their storage, and the whole file after `read_weights`.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> owned;
};

/// The tensor of that name, or nullptr.
const Tensor* find(const TensorFile& file, std::string_view name);

/// Bytes that a shape takes; nothing if a size is negative or the product does not fit.
std::optional<std::size_t> byte_count(std::span<const std::int64_t> shape, DType dtype);

/// More dimensions than this are refused, as torch does.
inline constexpr std::size_t max_rank = 64;

}  // namespace sadam::weights
