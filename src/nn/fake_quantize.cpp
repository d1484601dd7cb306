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

#ifdef SADAM_NN_CUDA
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include <fmt/format.h>

#include "nn/kernels/kernels.h"

namespace sadam::nn {
namespace {

void check_tensor(const at::Tensor& x) {
  if (!x.defined()) throw Error("fake_quantize was given an undefined tensor: give it one with values.");
  if (x.layout() != at::kStrided || !at::isFloatingType(x.scalar_type())) {
    throw Error(fmt::format(
        "fake_quantize was given a tensor of type {}: give it a dense one of floating-point numbers.",
        x.toString()));
  }
}

#ifdef SADAM_NN_CUDA
constexpr bool kHasCuda = true;

/// Enqueued on the current stream; nothing waits, so that it can be captured.
template <class T>
void quantize_on_gpu(const at::Tensor& out, const at::Tensor& in, int bits) {
  const c10::cuda::CUDAGuard guard(in.device());
  const auto stream = c10::cuda::getCurrentCUDAStream(in.device().index()).stream();
  const auto maximum = at::empty({}, in.options());  // stays on the device
  const auto* data = static_cast<const T*>(in.data_ptr());
  auto* largest = static_cast<T*>(maximum.data_ptr());
  kernels::cuda::absolute_maximum(kernels::cuda::AbsoluteMaximum<T>{data, in.numel(), largest, stream});
  kernels::cuda::fake_quantize(kernels::cuda::FakeQuantize<T>{static_cast<T*>(out.data_ptr()), data,
                                                              in.numel(), largest,
                                                              kernels::quantization_levels(bits), stream});
}
#else
constexpr bool kHasCuda = false;

template <class T>
void quantize_on_gpu(const at::Tensor&, const at::Tensor&, int) {}  // never called
#endif

template <class T>
void quantize_on_cpu(const at::Tensor& out, const at::Tensor& in, int bits) {
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
  const auto run = [&]<class T>(T) {
    x.is_cuda() ? quantize_on_gpu<T>(out, in, bits) : quantize_on_cpu<T>(out, in, bits);
  };
  x.scalar_type() == at::kFloat ? run(0.0F) : run(0.0);
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
  const bool here = x.device().is_cpu() || (kHasCuda && x.is_cuda());
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
  throw Error(fmt::format("{}-bit quantization is not possible: use 2 to 8 bits.", bits));
}

at::Tensor fake_quantize(const at::Tensor& x, int bits) {
  check_bits(bits);
  check_tensor(x);
  if (x.requires_grad() && at::GradMode::is_enabled()) return StraightThrough::apply(x, bits);
  const at::NoGradGuard no_graph;
  return quantized(x, bits);
}

}  // namespace sadam::nn
