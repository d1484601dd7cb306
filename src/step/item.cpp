#include "step/item.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros_like.h>

namespace sadam::step {

at::Tensor laid_out_like(const at::Tensor& tensor, const at::Tensor& pattern) {
  if (!is_block(pattern)) return tensor.contiguous();
  if (tensor.strides() == pattern.strides() || (is_plain(tensor) && is_plain(pattern))) return tensor;
  return at::empty_strided(pattern.sizes(), pattern.strides(), tensor.options()).copy_(tensor);
}

void ensure_moment(at::Tensor& tensor, const at::Tensor& parameter) {
  const at::NoGradGuard no_grad;
  if (tensor.defined()) {
    if (tensor.device() != parameter.device() || tensor.scalar_type() != parameter.scalar_type())
      tensor = tensor.to(parameter.device(), parameter.scalar_type());  // the model was moved or converted
    tensor = laid_out_like(tensor, parameter);
    return;
  }
  const auto format = is_block(parameter) ? at::MemoryFormat::Preserve : at::MemoryFormat::Contiguous;
  tensor = at::zeros_like(parameter.detach(), format);
}

}  // namespace sadam::step
