// A second module with the same values.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Optional.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <memory>
#include <mutex>

namespace sadam::nn {

/// A module made anew from its options, with the parameters, buffers and modes of `original`, on its device.
/// Making it draws from torch's generator, which is put back.
template <class Impl>
std::shared_ptr<torch::nn::Module> copy_module(const Impl& original) {
  auto generator = at::detail::getDefaultCPUGenerator();
  at::Tensor drawn;
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    drawn = generator.get_state();
  }
  auto copy = std::make_shared<Impl>(original.options());
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(drawn);
  }
  const at::NoGradGuard no_grad;
  const auto transfer = [](const auto& from, const auto& to) {
    for (const auto& entry : from) {
      auto tensor = to[entry.key()];
      tensor.set_data(entry.value().detach().clone());
      tensor.set_requires_grad(entry.value().requires_grad());
    }
  };
  transfer(original.named_parameters(), copy->named_parameters());
  transfer(original.named_buffers(), copy->named_buffers());
  copy->train(original.is_training());
  const auto parts = original.modules(/*include_self=*/false);
  const auto copies = copy->modules(/*include_self=*/false);
  for (std::size_t i = 0; i < parts.size(); ++i) copies[i]->train(parts[i]->is_training());  // parents first
  return copy;
}

}  // namespace sadam::nn
