#include "nn/fake_quantize.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/max.h>
#include <ATen/ops/round.h>
#include <sadam/error.h>
#include <torch/csrc/autograd/custom_function.h>

#include <string>

#include "kernels/kernels.h"
#include "nn/cuda/fake_quantize.h"

namespace sadam::nn {
namespace {

void check_tensor(const at::Tensor& x) {
  if (!x.defined()) throw Error("fake_quantize was given an undefined tensor: give it one with values.");
  if (x.layout() != at::kStrided || !at::isFloatingType(x.scalar_type())) {
    throw Error("fake_quantize was given a tensor of type " + x.toString() +
                ": give it a dense one of floating-point numbers.");
  }
}

template <class T>
void quantize_block(const at::Tensor& out, const at::Tensor& in, int bits) {
  const int threads = at::get_num_threads();
  const auto* data = static_cast<const T*>(in.data_ptr());
  kernels::FakeQuantize<T> launch;
  launch.out = static_cast<T*>(out.data_ptr());
  launch.in = data;
  launch.count = in.numel();
  launch.maximum = kernels::absolute_maximum(kernels::AbsoluteMaximum<T>{data, in.numel(), threads});
  launch.levels = kernels::quantization_levels(bits);
  launch.threads = threads;
  kernels::fake_quantize(launch);
}

at::Tensor quantized_by_kernels(const at::Tensor& x, int bits) {
  auto out = at::empty_like(x);  // keeps the strides of x, unless x has gaps or overlaps
  auto in = x;
  if (x.strides() != out.strides()) {
    out.copy_(x);
    in = out;
  }
  if (x.is_cuda()) {
    cuda::fake_quantize(out, in, bits);
  } else if (x.scalar_type() == at::kFloat) {
    quantize_block<float>(out, in, bits);
  } else {
    quantize_block<double>(out, in, bits);
  }
  return out;
}

at::Tensor quantized_by_expression(const at::Tensor& x, int bits) {
  const auto levels = kernels::quantization_levels(bits);
  const auto top = at::max(at::abs(x)) + 1e-5;
  const auto s = at::full_like(top, levels.q) / top;
  return at::clamp(at::round(x * s), levels.low, levels.high) / s;
}

at::Tensor quantized(const at::Tensor& x, int bits) {
  if (x.numel() == 0) return at::empty_like(x);
  // A tensor that is only marked as negated does not hold its own values.
  const bool own = !x.is_neg();
  const bool known = x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  const bool here = x.device().is_cpu() || cuda::has_fake_quantize(x);
  return own && known && here ? quantized_by_kernels(x, bits) : quantized_by_expression(x, bits);
}

struct StraightThrough : torch::autograd::Function<StraightThrough> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, int bits) {
    context->set_materialize_grads(false);
    return quantized(x, bits);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

void check_bits(int bits) {
  if (bits >= 2 && bits <= 8) return;
  throw Error(std::to_string(bits) + "-bit quantization is not possible: use 2 to 8 bits.");
}

at::Tensor fake_quantize(const at::Tensor& x, int bits) {
  check_bits(bits);
  check_tensor(x);
  if (x.requires_grad() && at::GradMode::is_enabled()) return StraightThrough::apply(x, bits);
  const at::NoGradGuard no_graph;
  return quantized(x, bits);
}

}  // namespace sadam::nn
