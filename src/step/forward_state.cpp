#include "step/forward_state.h"

#include <ATen/core/grad_mode.h>

#include "step/passes.h"

namespace sadam::step {
namespace {

bool is_alike(const at::Tensor& buffer, const at::Tensor& copy) {
  return buffer.layout() == at::kStrided && copy.layout() == at::kStrided &&
         buffer.device() == copy.device() && buffer.scalar_type() == copy.scalar_type() &&
         buffer.sizes() == copy.sizes();
}

}  // namespace

ForwardState::ForwardState(const std::vector<at::Tensor>& buffers, const Backend& backend)
    : draws(backend.generators()), buffers_(buffers) {
  copies_.fit(buffers);
  TensorPairs pairs;
  for (std::size_t i = 0; i < buffers.size(); ++i) pairs.emplace_back(copies_[i], buffers[i].variable_data());
  copy_tensors(backend, pairs);
}

void ForwardState::restore_buffers(const Backend& backend, const std::int64_t* only_if) const {
  TensorPairs pairs;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (is_alike(buffers_[i], copies_[i])) pairs.emplace_back(buffers_[i].variable_data(), copies_[i]);
  copy_tensors(backend, pairs, only_if);
}

bool ForwardState::has_replaced_buffers() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!is_alike(buffers_[i], copies_[i])) return true;
  return false;
}

void ForwardState::restore_replaced_buffers() const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!is_alike(buffers_[i], copies_[i])) buffers_[i].set_data(copies_[i].clone());
}

}  // namespace sadam::step
