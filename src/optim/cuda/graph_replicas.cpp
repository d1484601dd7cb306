// Which replicas a captured step probes on, and whether its loss can be evaluated there.
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "../../probe/forward_state.h"
#include "../../probe/precision.h"
#include "../../probe/writes.h"
#include "../access.h"
#include "graph_engine.h"

namespace sadam::optim::cuda {
namespace {

// Of the stream of replica i: below that of the base evaluation, and falling, so that on a busy GPU the first
// ones go ahead and the others fill the gaps (docs/benchmarks.md).
int priority_of(std::int64_t i) {
  const auto greatest = std::get<1>(c10::cuda::CUDAStream::priority_range());  // −3, say
  return static_cast<int>(std::min<std::int64_t>(0, greatest + 1 + i / 2));
}

// By up to a hundredth of them, and up by up to a thousandth, so that what is positive stays so. The same
// numbers in each call, and none of torch's default generator.
void move_weights(const TensorPairs& to_from) {
  if (to_from.empty()) return;
  auto generator = at::make_generator<at::CUDAGeneratorImpl>(to_from.front().first.device().index());
  generator.set_current_seed(1);
  for (const auto& [to, from] : to_from) {
    const auto random = at::rand(from.sizes(), generator, from.options()).mul_(0.01);
    to.copy_(from);
    to.addcmul_(to, random).add_(random, 0.1);
  }
}

// The weights of the replica, in all their copies, from its own.
void move_weights(const Replica& replica) {
  TensorPairs first;
  TensorPairs others;
  for (const auto& copies : replica.weights) {
    for (const auto& copy : copies) {
      if (&copy == &copies.front())
        first.emplace_back(copy.variable_data(), copy.variable_data());
      else
        others.emplace_back(copy.variable_data(), copies.front().variable_data());
    }
  }
  move_weights(first);
  for (const auto& [to, from] : others) to.copy_(from);
}

// While it lives, the module has other weights. The replica has kept them.
class MovedWeights {
 public:
  MovedWeights(const Items& items, const Replica& replica) {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!replica.weights[i].empty())
        weights_.emplace_back(items[i].parameter.variable_data(), replica.weights[i].front().variable_data());
    try {
      move_weights(weights_);
    } catch (...) {
      copy_tensors(weights_);
      throw;
    }
  }
  ~MovedWeights() {
    try {
      copy_tensors(weights_);
    } catch (const std::exception& error) {
      TORCH_WARN("sadam: the weights could not be put back: ", error.what());
    }
  }
  MovedWeights(const MovedWeights&) = delete;
  MovedWeights& operator=(const MovedWeights&) = delete;

 private:
  TensorPairs weights_;
};

}  // namespace

// Fresh noise updates a module's buffers in each evaluation, one after the other: a chain.
bool GraphEngine::is_chained() const {
  return Access::wide(*s_adam()).noise() == ProbeNoise::fresh && !buffers_->live.empty();
}

void GraphEngine::make_replicas(const Key& key) {
  drop_replicas();
  replicas_made_ = true;
  replicas_key_ = key;
  replicas_layout_ = work().layout();
  replicas_work_ = Access::shared_device_work(*request_.optimizer);
  const auto& whole = Access::wide(*s_adam());
  auto wanted = std::min(most_streams_, probes_of(whole));
  if (is_chained()) wanted = std::min<std::int64_t>(wanted, 1);
  // What has two names in the module may have become two in a copy, each with updates of its own.
  if (is_chained() && request_.module->named_buffers().size() != buffers_->live.size()) return;
  if (wanted == 0 || is_along_step(whole)) return;
  // Fresh noise: the probes draw after the backward pass, and not before.
  if (backward_draws_ && whole.noise() == ProbeNoise::fresh) return;
  if (!can_be_replicated(*request_.module, work().items(), *buffers_)) return;
  std::size_t free = 0;
  std::size_t total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const auto allowed = request_.options.replica_memory() >= 0 ? request_.options.replica_memory()
                                                              : static_cast<std::int64_t>(free / 4);
  wanted = std::min(wanted, allowed / std::max<std::int64_t>(replica_bytes(*request_.module), 1));
  try {
    for (std::int64_t i = 0; i < wanted; ++i) {
      const auto known = static_cast<std::int64_t>(streams_.size());
      if (i == known) streams_.emplace_back(priority_of(i), device_);
      replicas_.push_back(make_replica(*request_.module, work().items(), *buffers_,
                                       streams_[static_cast<std::size_t>(i)].get()));
    }
  } catch (const std::exception& error) {
    replicas_.clear();
    if (is_out_of_memory(error)) {  // in place, then
      c10::cuda::CUDACachingAllocator::emptyCache();
      return;
    }
    most_streams_ = 0;
    TORCH_WARN("sadam: the module cannot be copied, so probes run one after the other on the module itself: ",
               "derive it and all that it consists of from torch::nn::Cloneable (", first_line_of(error),
               ")");
  }
}

// Two things are asked. Is the loss of a replica that of the module, with their weights and with others? It
// is not if the loss remembers a module instead of using the one that it is given, or if clone() does not
// copy all of it. And would evaluations at the same time disturb each other, because they write to the same
// memory (a tensor that the module has and has not registered) or to weights that others read? The base
// evaluation may do so alone, being the one with gradients: what it writes each time is not its own.
std::string GraphEngine::objection_to(const Replica& replica, const Inputs& inputs,
                                      const probe::WrittenMemory& by_base) {
  const at::NoGradGuard no_grad;
  const probe::FullPrecision precision(/*cuda=*/true);  // as the probes have
  const auto prepared = request_.prepared(inputs);
  buffers_->keep();
  const probe::ForwardState before(buffers_->live, device_);
  const auto evaluated = [&](torch::nn::Module& module) {
    before.restore();
    copy_tensors(replica.buffers);
    double loss = 0;
    probe::WrittenMemory written([&] { loss = evaluate(module, prepared).item<double>(); });
    return std::make_pair(loss, std::move(written));
  };
  std::string failure;
  const auto evaluated_copy = [&] {
    try {
      return evaluated(*replica.module);
    } catch (const std::exception& error) {
      if (is_out_of_memory(error)) throw;
      failure =
          "a copy of the module cannot be evaluated, as the module itself can: derive it and all that "
          "it consists of from torch::nn::Cloneable (" +
          first_line_of(error) + ")";
      return std::make_pair(0.0, probe::WrittenMemory([] {}));
    }
  };
  const auto differ = [](double a, double b) {
    return std::isfinite(a) != std::isfinite(b) ||
           std::abs(a - b) > 1e-5 * std::max(std::abs(a), std::abs(b));
  };
  TensorPairs weights;
  for (std::size_t i = 0; i < replica.weights.size(); ++i)
    for (const auto& copy : replica.weights[i])
      weights.emplace_back(copy.variable_data(), work().items()[i].parameter.variable_data());
  copy_tensors(weights);
  copy_tensors(replica.frozen);
  const auto of_replica = evaluated_copy();
  const auto of_module = evaluated(*request_.module);
  double moved_module = 0;
  {
    const MovedWeights moved(work().items(), replica);
    moved_module = evaluated(*request_.module).first;
  }
  move_weights(replica);
  const double moved_replica = evaluated_copy().first;
  before.restore();
  const probe::WrittenMemory by_base_again([&] {
    const at::AutoGradMode with_gradients(true);
    at::autocast::clear_cache();
    request_.loss(*request_.module, prepared);
  });
  before.restore();
  if (!failure.empty()) return failure;
  if (differ(of_replica.first, of_module.first) || differ(moved_replica, moved_module))
    return "a copy of the module has another loss: let the loss use the module that it is given and no "
           "other, and let clone() copy all of it";
  const auto parameters = request_.module->parameters();
  if (of_replica.second.overlaps(of_module.second) || by_base_again.overlaps(by_base, buffers_->own) ||
      std::any_of(parameters.begin(), parameters.end(), [&](const at::Tensor& parameter) {
        return of_module.second.has(parameter) || by_base_again.has(parameter);
      }))
    return "the loss writes to weights, or to tensors that copies of the module share: let it write to "
           "nothing but buffers that are registered in reset()";
  return "";
}

}  // namespace sadam::optim::cuda
