#include "forward_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <mutex>

namespace sadam::probe {
namespace {

bool is_plain_memory(const at::Tensor& tensor) { return tensor.device().is_cpu() && tensor.is_contiguous(); }

}  // namespace

ForwardState::ForwardState(const std::vector<at::Tensor>& buffers) : buffers_(buffers) {
  const at::NoGradGuard no_grad;
  auto generator = at::detail::getDefaultCPUGenerator();
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator_ = generator.get_state();
  }
  copies_.reserve(buffers.size());
  for (const auto& buffer : buffers) copies_.push_back(buffer.detach().clone());
}

void ForwardState::restore() const {
  const at::NoGradGuard no_grad;
  auto generator = at::detail::getDefaultCPUGenerator();
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(generator_);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (is_plain_memory(buffers_[i]) && is_plain_memory(copies_[i]))
      std::memcpy(buffers_[i].data_ptr(), copies_[i].data_ptr(), copies_[i].nbytes());
    else
      buffers_[i].variable_data().copy_(copies_[i]);
  }
}

}  // namespace sadam::probe
