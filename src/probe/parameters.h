// The parameters as the probe and the kernels see them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sadam::probe {

/// One trainable parameter and its place among all of them.
struct Parameter {
  at::Tensor tensor;
  std::int64_t group = 0;   ///< index of its group
  std::int64_t index = 0;   ///< index in its group
  std::uint64_t first = 0;  ///< global index of its first element; the order within it is the logical one
};

/// Elements in logical order without gaps: a kernel may run over them.
inline bool is_plain(const at::Tensor& tensor) { return tensor.is_contiguous(); }

/// Elements in some order without gaps (channels_last, transposed): one block of memory.
inline bool is_block(const at::Tensor& tensor) { return tensor.is_non_overlapping_and_dense(); }

/// `tensor` laid out in memory as `pattern` is, copied only if it is not. Where `pattern` has gaps:
/// contiguous.
at::Tensor laid_out_like(const at::Tensor& tensor, const at::Tensor& pattern);

/// The gradient of each parameter laid out like it; undefined where there is none.
std::vector<at::Tensor> gradients_of(const std::vector<Parameter>& parameters);

}  // namespace sadam::probe
