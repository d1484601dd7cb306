#include "forward_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <mutex>

namespace sadam::probe {
namespace {

bool is_plain_memory(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.device().is_cpu() && tensor.is_contiguous();
}

bool are_alike(const at::Tensor& a, const at::Tensor& b) {
  return a.layout() == b.layout() && a.device() == b.device() && a.scalar_type() == b.scalar_type() &&
         a.sizes() == b.sizes();
}

void put_back(at::Tensor buffer, const at::Tensor& copy) {
  if (!are_alike(buffer, copy))
    buffer.set_data(copy.clone());  // the closure gave it another shape
  else if (is_plain_memory(buffer) && is_plain_memory(copy))
    std::memcpy(buffer.data_ptr(), copy.data_ptr(), copy.nbytes());
  else
    buffer.variable_data().copy_(copy);
}

bool is_copied_back(const at::Tensor& buffer, const at::Tensor& copy) {
  return buffer.layout() == at::kStrided && are_alike(buffer, copy);
}

}  // namespace

ForwardState::ForwardState(const std::vector<at::Tensor>& buffers, at::Device device) : buffers_(buffers) {
  const at::NoGradGuard no_grad;
  const auto keep = [this](at::Generator generator) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generators_.emplace_back(generator, generator.get_state());
  };
  keep(at::detail::getDefaultCPUGenerator());
  if (!device.is_cpu()) keep(at::globalContext().defaultGenerator(device));
  copies_.reserve(buffers.size());
  for (const auto& buffer : buffers) copies_.push_back(buffer.detach().clone());
}

void ForwardState::restore() const {
  restore_generators();
  restore_buffers();
}

void ForwardState::restore_generators() const {
  for (const auto& [generator, state] : generators_) {
    auto handle = generator;
    const std::lock_guard<std::mutex> lock(handle.mutex());
    handle.set_state(state);
  }
}

void ForwardState::restore_buffers() const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < buffers_.size(); ++i) put_back(buffers_[i], copies_[i]);
}

std::vector<std::pair<at::Tensor, at::Tensor>> ForwardState::alike() const {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (is_copied_back(buffers_[i], copies_[i])) pairs.emplace_back(buffers_[i].variable_data(), copies_[i]);
  return pairs;
}

void ForwardState::restore_unlike() const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!is_copied_back(buffers_[i], copies_[i])) put_back(buffers_[i], copies_[i]);
}

}  // namespace sadam::probe
