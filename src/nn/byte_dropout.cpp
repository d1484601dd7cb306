#include "nn/byte_dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace sadam::nn {

at::Tensor byte_dropout(const at::Tensor& x, double p, bool training) {
  const double dropped_bytes = 256 * p;
  const bool by_bytes = x.device().is_cpu() && dropped_bytes == std::floor(dropped_bytes);
  if (!training || p == 0 || !by_bytes) return at::dropout(x, p, training);
  const auto words = at::empty({(x.numel() + 7) / 8}, x.options().dtype(at::kLong).requires_grad(false));
  // From the lowest number on, or the highest bit of each word would always be 0.
  words.random_(std::numeric_limits<std::int64_t>::min(), c10::nullopt, c10::nullopt);
  const auto bytes = words.view(at::kByte).narrow(0, 0, x.numel());
  const auto mask = bytes.ge(dropped_bytes).to(x.scalar_type()).div_(1 - p).view(x.sizes());
  return x * mask;
}

}  // namespace sadam::nn
