#include "nn/layers.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/max.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/round.h>
#include <sadam/error.h>
#include <torch/csrc/autograd/custom_function.h>

#ifdef SADAM_NN_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "nn/kernels/kernels.h"

namespace sadam::nn {
namespace {

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

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

bool has_kernel(const at::Tensor& x) {
  return x.device().is_cpu() && x.layout() == at::kStrided && !x.is_neg() && x.dim() == 4 && x.size(2) >= 2 &&
         x.size(3) >= 2 && x.is_contiguous(kChannelsLast) &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

kernels::PoolShape shape_of(const at::Tensor& x) { return {x.size(0), x.size(2), x.size(3), x.size(1)}; }

template <class T>
T* data_of(const at::Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

at::Tensor pooled(const at::Tensor& x) {
  const auto out =
      at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(), kChannelsLast);
  const auto launch = [&]<class T>(T) {
    kernels::pool_relu(
        kernels::PoolRelu<T>{data_of<T>(out), data_of<T>(x), shape_of(x), at::get_num_threads()});
  };
  x.scalar_type() == at::kFloat ? launch(0.0F) : launch(0.0);
  return out;
}

at::Tensor gradient_of(const at::Tensor& x, const at::Tensor& out_gradient) {
  const auto from = out_gradient.contiguous(kChannelsLast);
  const auto gradient = at::empty_like(x, x.options(), kChannelsLast);
  const auto launch = [&]<class T>(T) {
    kernels::pool_relu_gradient(kernels::PoolReluGradient<T>{
        data_of<T>(gradient), data_of<T>(x), data_of<T>(from), shape_of(x), at::get_num_threads()});
  };
  x.scalar_type() == at::kFloat ? launch(0.0F) : launch(0.0);
  return gradient;
}

struct PoolReluFunction : torch::autograd::Function<PoolReluFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    return pooled(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    if (at::GradMode::is_enabled() && gradients[0].requires_grad()) {
      throw Error("pool_relu has no second derivative: call backward without create_graph.");
    }
    return {gradient_of(context->get_saved_variables()[0], gradients[0])};
  }
};

}  // namespace

at::Tensor fake_quantize(const at::Tensor& x, int bits) {
  if (x.requires_grad() && at::GradMode::is_enabled()) return StraightThrough::apply(x, bits);
  const at::NoGradGuard no_graph;
  return quantized(x, bits);
}

at::Tensor pool_relu(const at::Tensor& x) {
  if (!has_kernel(x)) return at::relu(at::max_pool2d(x, 2));
  if (x.requires_grad() && at::GradMode::is_enabled()) return PoolReluFunction::apply(x);
  const at::NoGradGuard no_graph;
  return pooled(x);
}

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
