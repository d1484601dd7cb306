// The element types a weight file may hold, and what each format calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sadam::weights {

enum class DType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  uint8,
  int8,
  int16,
  int32,
  int64,
  boolean
};

/// `float16`, `int64`, ...: for messages.
std::string_view name(DType dtype);

/// Bytes of one element.
std::size_t size(DType dtype);

/// `F16`, `BF16`, ...: as in the header of a safetensors file.
std::string_view safetensors_name(DType dtype);
std::optional<DType> from_safetensors_name(std::string_view text);

/// `torch.HalfStorage`, ...: the class that a .pth file names for a storage.
std::optional<DType> from_storage_class(std::string_view text);

}  // namespace sadam::weights
