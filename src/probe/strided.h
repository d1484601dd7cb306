// Walks two tensors of one shape, element by element in logical order, whatever their strides.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sadam::probe {

/// Calls f(offset_in_a, offset_in_b) for the elements of two tensors of one shape, in logical order.
template <class F>
void walk(const at::Tensor& a, const at::Tensor& b, F&& f) {
  const auto sizes = a.sizes();
  const auto dimensions = sizes.size();
  const auto count = a.numel();
  std::vector<std::int64_t> position(dimensions, 0);
  std::int64_t at_a = 0;
  std::int64_t at_b = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    f(at_a, at_b);
    for (auto d = dimensions; d-- > 0;) {
      at_a += a.strides()[d];
      at_b += b.strides()[d];
      if (++position[d] < sizes[d]) break;
      at_a -= sizes[d] * a.strides()[d];
      at_b -= sizes[d] * b.strides()[d];
      position[d] = 0;
    }
  }
}

}  // namespace sadam::probe
