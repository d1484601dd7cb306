// What must hold of every file that a reader accepts, whatever its bytes were.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "nn/weights/tensor_file.h"
#include "support/find_tensor.h"

namespace sadam::weights::fuzz {

inline void require(bool promise) {
  if (!promise) std::abort();
}

inline void check(const TensorFile& file) {
  std::set<std::string> names;
  std::uint64_t sum = 0;
  for (const auto& tensor : file.tensors) {
    require(names.insert(tensor.name).second);
    require(byte_count(tensor.shape, tensor.dtype) == tensor.bytes.size());
    for (const auto byte : tensor.bytes)
      sum += std::to_integer<std::uint64_t>(byte);  // the sanitizer looks on
  }
  const volatile std::uint64_t keep = sum;
  static_cast<void>(keep);
}

/// Written and read again, it is the same.
inline void check_round_trip(const TensorFile& file) {
  const auto written = write_safetensors(file.tensors, file.metadata);
  const auto again = read_safetensors(written);
  require(again.metadata == file.metadata && again.tensors.size() == file.tensors.size());
  for (const auto& tensor : again.tensors) {
    const auto* const before = find(file, tensor.name);
    require(before != nullptr && before->dtype == tensor.dtype && before->shape == tensor.shape);
    require(std::equal(before->bytes.begin(), before->bytes.end(), tensor.bytes.begin(), tensor.bytes.end()));
  }
}

}  // namespace sadam::weights::fuzz
