// A 2×2 max-pool and ReLU in one pass.
#pragma once

#include <ATen/core/Tensor.h>

namespace sadam::nn {

/// max_pool2d(relu(x), 2) for x of shape n × c × h × w, with the same gradient: ReLU keeps the order, so the
/// maximum can come first. On the CPU, float32 and float64 in channels_last go through kernels of one pass
/// each, forward and backward; everything else is the tensor expression. The kernels
/// have no second derivative; asked for one, they throw `sadam::Error`.
at::Tensor pool_relu(const at::Tensor& x);

}  // namespace sadam::nn
