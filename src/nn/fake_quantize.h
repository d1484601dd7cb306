// Fake quantization: the values a b-bit tensor could have, kept as floats, so that a network learns to live
// with them.
#pragma once

#include <ATen/core/Tensor.h>

namespace sadam::nn {

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
/// Throws `sadam::Error` for bits outside 2 to 8, and for what is not a dense tensor of real floating-point
/// numbers.
at::Tensor fake_quantize(const at::Tensor& x, int bits);

/// Throws `sadam::Error` unless `bits` is 2 to 8.
void check_bits(int bits);

}  // namespace sadam::nn
