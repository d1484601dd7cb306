// Passes over gradients and weights that do not depend on directions: counts, updates, copies.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/where.h>

#include "../block.h"
#include "launches.h"
#include "typed.h"

namespace sadam::optim::cuda {

void Launches::count_non_finite_gradients() const {
  count_non_finite_as<float>();
  count_non_finite_as<double>();
}

template <class T>
void Launches::count_non_finite_as() const {
  kernels::cuda::CountNonFinite<T> launch;
  launch.out = numbers_.non_finite_gradient();
  launch.stream = stream();
  std::vector<at::Tensor> kept;
  for (const auto& item : items_) {
    const auto& gradient = item.parameter.grad();
    if (!gradient.defined() || !is_of<T>(gradient)) continue;
    kept.push_back(probe::is_block(gradient) ? gradient : gradient.contiguous());
    launch.segments.push_back({pointer<T>(kept.back()), gradient.numel()});
  }
  if (!launch.segments.empty()) kernels::cuda::count_non_finite(launch);
}

void Launches::update_adam(GroupRange groups) const {
  const at::NoGradGuard no_grad;
  update_adam_as<float>(groups);
  update_adam_as<double>(groups);
}

template <class T>
void Launches::update_adam_as(GroupRange groups) const {
  kernels::cuda::AdamUpdate<T> launch;
  launch.skip = numbers_.skip();
  launch.stream = stream();
  std::vector<Block> blocks;
  std::vector<at::Tensor> kept;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item) || !is_of<T>(item.parameter) || !item.parameter.grad().defined()) continue;
    blocks.emplace_back(item.parameter);
    kept.push_back(gradient_like(item.parameter));
    launch.segments.push_back({blocks.back().template data<T>(), pointer<T>(item.first_moment),
                               pointer<T>(item.second_moment), pointer<T>(kept.back()),
                               item.parameter.numel(), numbers_.coefficients(i)});
  }
  if (launch.segments.empty()) return;
  kernels::cuda::adam_update(launch);
  for (auto& block : blocks) block.written();
}

void Launches::update_prox_sgd() const {
  const at::NoGradGuard no_grad;
  update_prox_sgd_as<float>();
  update_prox_sgd_as<double>();
}

template <class T>
void Launches::update_prox_sgd_as() const {
  kernels::cuda::ProxSgdUpdate<T> launch;
  launch.skip = numbers_.skip();
  launch.stream = stream();
  std::vector<Block> blocks;
  std::vector<at::Tensor> kept;
  for (const auto& item : items_) {
    if (!is_of<T>(item.parameter) || !item.parameter.grad().defined()) continue;
    blocks.emplace_back(item.parameter);
    kept.push_back(gradient_like(item.parameter));
    launch.segments.push_back({blocks.back().template data<T>(), pointer<T>(item.first_moment),
                               pointer<T>(kept.back()), item.parameter.numel(), numbers_.rule(item.group)});
  }
  if (launch.segments.empty()) return;
  kernels::cuda::prox_sgd_update(launch);
  for (auto& block : blocks) block.written();
}

void copy_tensors(const std::vector<std::pair<at::Tensor, at::Tensor>>& to_from,
                  const std::int64_t* only_if) {
  const at::NoGradGuard no_grad;
  if (to_from.empty()) return;
  kernels::cuda::Copy launch;
  launch.only_if = only_if;
  launch.stream = at::cuda::getCurrentCUDAStream(to_from.front().first.device().index()).stream();
  for (const auto& [to, from] : to_from) {
    const bool plain = to.layout() == at::kStrided && from.layout() == at::kStrided &&
                       to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes();
    if (plain && to.strides() == from.strides() && probe::is_block(to) && to.is_cuda() && from.is_cuda()) {
      launch.segments.push_back({to.data_ptr(), from.data_ptr(), static_cast<std::int64_t>(from.nbytes())});
    } else if (only_if == nullptr) {
      to.copy_(from);
    } else {
      const auto condition = at::from_blob(const_cast<std::int64_t*>(only_if), {},
                                           at::TensorOptions().dtype(at::kLong).device(to.device()));
      to.copy_(at::where(condition.ne(0), from, to));
    }
  }
  if (!launch.segments.empty()) kernels::cuda::copy(launch);
}

}  // namespace sadam::optim::cuda
