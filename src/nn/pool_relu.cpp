#include "nn/pool_relu.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <sadam/error.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/kernels/kernels.h"

namespace sadam::nn {
namespace {

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

at::Tensor pool_relu(const at::Tensor& x) {
  if (!has_kernel(x)) return at::relu(at::max_pool2d(x, 2));
  if (x.requires_grad() && at::GradMode::is_enabled()) return PoolReluFunction::apply(x);
  const at::NoGradGuard no_graph;
  return pooled(x);
}

}  // namespace sadam::nn
