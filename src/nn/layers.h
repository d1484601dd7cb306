// What QATNet is made of: fake quantization, a max-pool with ReLU, dropout.
#pragma once

#include <ATen/core/Tensor.h>

namespace sadam::nn {

/// Fake quantization: the values a b-bit tensor could have, kept as floats, so that a network learns to live
/// with them.
///
/// clamp(round(x·s), low, high)/s with s = q/(max|x| + 1e-5), over the whole tensor, halves rounded to even.
/// For b ≥ 3 bits q is 2^{b−1} − 1 and the range [−2^{b−1}, q]; for 2 bits q is 1.5 and the range [−2, 1],
/// which leaves −1, 0 and 1.
///
/// The gradient passes unchanged, also where x was clamped (the straight-through estimator). A NaN or an
/// infinity anywhere makes everything NaN, as it does in the tensor expression. The result has the memory
/// format of x and is the only memory taken. float32 and float64 go through kernels of one pass each, on the
/// CPU and, in a build with CUDA, on GPUs, where nothing waits for the host; everything else is the tensor
/// expression.
///
/// x is a dense tensor of real floating-point numbers, `bits` 2 to 8.
at::Tensor fake_quantize(const at::Tensor& x, int bits);

/// A 2×2 max-pool and ReLU in one pass.
///
/// max_pool2d(relu(x), 2) for x of shape n × c × h × w, with the same gradient: ReLU keeps the order, so the
/// maximum can come first. On the CPU, float32 and float64 in channels_last go through kernels of one pass
/// each, forward and backward; everything else is the tensor expression. The kernels
/// have no second derivative; asked for one, they throw `sadam::Error`.
at::Tensor pool_relu(const at::Tensor& x);

/// Dropout that draws an eighth of the random numbers.
///
/// Dropout: in training each element is zero with probability p (below 1) and divided by 1 − p otherwise;
/// else x itself. On the CPU drawing takes nearly all of its time, and torch draws 64 bits for each element.
/// Here an element takes one byte, where p is a multiple of 1/256 (a quarter is); for any other p, and on
/// other devices, this is torch's dropout. Either way the numbers come from torch's default generator: who
/// restores that replays the mask.
at::Tensor byte_dropout(const at::Tensor& x, double p, bool training);

}  // namespace sadam::nn
