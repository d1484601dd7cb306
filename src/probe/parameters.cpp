#include "parameters.h"

#include <ATen/ops/empty_strided.h>

namespace sadam::probe {

at::Tensor laid_out_like(const at::Tensor& tensor, const at::Tensor& pattern) {
  if (!is_block(pattern)) return tensor.contiguous();
  if (tensor.strides() == pattern.strides() || (is_plain(tensor) && is_plain(pattern))) return tensor;
  return at::empty_strided(pattern.sizes(), pattern.strides(), tensor.options()).copy_(tensor);
}

std::vector<at::Tensor> gradients_of(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const auto& parameter : parameters) {
    const auto& gradient = parameter.tensor.grad();
    gradients.push_back(gradient.defined() ? laid_out_like(gradient, parameter.tensor) : at::Tensor());
  }
  return gradients;
}

}  // namespace sadam::probe
