// Fake quantization by the kernels for GPUs; a build without CUDA has none.
#pragma once

#include <ATen/core/Tensor.h>

namespace sadam::nn::cuda {

/// Whether this build has kernels for the device.
bool has_fake_quantize(const at::Tensor& x);

/// out = the fake quantization of `in` (may be `out`), both float32 or float64 on one GPU and of the same
/// strides, without gaps. Enqueued on the current stream; nothing waits, so that it can be captured.
void fake_quantize(const at::Tensor& out, const at::Tensor& in, int bits);

}  // namespace sadam::nn::cuda
