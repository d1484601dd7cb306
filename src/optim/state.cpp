#include "state.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "../probe/parameters.h"

namespace sadam::optim {

void ensure_moment(at::Tensor& tensor, const at::Tensor& parameter) {
  const at::NoGradGuard no_grad;
  if (tensor.defined()) {
    if (tensor.device() != parameter.device() || tensor.scalar_type() != parameter.scalar_type())
      tensor = tensor.to(parameter.device(), parameter.scalar_type());  // the model was moved or converted
    tensor = probe::laid_out_like(tensor, parameter);
    return;
  }
  const auto format = probe::is_block(parameter) ? at::MemoryFormat::Preserve : at::MemoryFormat::Contiguous;
  tensor = at::zeros_like(parameter.detach(), format);
}

}  // namespace sadam::optim
