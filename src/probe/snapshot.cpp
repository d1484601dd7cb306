#include "snapshot.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <utility>

#include "../kernels/kernels.h"

namespace sadam::probe {
namespace {

bool fits(const at::Tensor& copy, const at::Tensor& tensor) {
  return copy.scalar_type() == tensor.scalar_type() && copy.sizes() == tensor.sizes() &&
         (is_block(tensor) ? copy.strides() == tensor.strides() : copy.is_contiguous());
}

}  // namespace

void Snapshot::take(const std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  copies_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto tensor = parameters[i].tensor.variable_data();
    if (copies_[i].defined() && fits(copies_[i], tensor)) continue;
    copies_[i] =
        at::empty_like(tensor, is_block(tensor) ? at::MemoryFormat::Preserve : at::MemoryFormat::Contiguous);
  }
  parameters_ = parameters;
  transfer(false);
}

void Snapshot::restore() const { transfer(true); }

void Snapshot::transfer(bool to_weights) const {
  const at::NoGradGuard no_grad;
  kernels::Copy launch;
  launch.threads = at::get_num_threads();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto tensor = parameters_[i].tensor.variable_data();
    auto copy = copies_[i];
    if (is_block(tensor)) {
      const auto& from = to_weights ? copy : tensor;
      const auto& to = to_weights ? tensor : copy;
      launch.segments.push_back({to.data_ptr(), from.data_ptr(), static_cast<std::int64_t>(tensor.nbytes())});
    } else if (to_weights) {
      tensor.copy_(copy);
    } else {
      copy.copy_(tensor);
    }
  }
  kernels::copy(launch);
}

}  // namespace sadam::probe
