// Which replicas a captured step probes on, and whether its loss can be evaluated there.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand_like.h>
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
#include "../../probe/written_memory.h"
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
  if (wanted == 0 || is_along_step(whole)) return;
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
      if (i == known) streams_.push_back(c10::cuda::getStreamFromPool(priority_of(i), device_.index()));
      replicas_.push_back(
          make_replica(*request_.module, work().items(), *buffers_, streams_[static_cast<std::size_t>(i)]));
    }
  } catch (const c10::OutOfMemoryError&) {  // in place, then
    replicas_.clear();
    c10::cuda::CUDACachingAllocator::emptyCache();
  } catch (const std::exception& error) {
    replicas_.clear();
    most_streams_ = 0;
    TORCH_WARN("sadam: the module cannot be copied, so probes run one after the other on the module itself: ",
               "derive it from torch::nn::Cloneable (", first_line_of(error), ")");
  }
}

// Two things are asked. A loss that remembers a module instead of using the one that it is given would see
// none of the probes: it is the same whatever the weights of the replica. (They are changed by little and
// upwards, so that what is positive stays so.) And evaluations that write to the same memory, as to a tensor
// that a module has and has not registered, would disturb each other.
std::string GraphEngine::objection_to(const Replica& replica, const Inputs& inputs) const {
  const at::NoGradGuard no_grad;
  const probe::FullPrecision precision(/*cuda=*/true);  // as the probes have
  const auto prepared = request_.prepared(inputs);
  buffers_->keep();
  const probe::ForwardState before(buffers_->live, device_);
  const auto start_again = [&] {
    before.restore();
    copy_tensors(replica.buffers);
  };
  start_again();
  double first = 0;
  const probe::WrittenMemory by_replica([&] { first = evaluate(*replica.module, prepared).item<double>(); });
  start_again();
  const probe::WrittenMemory by_module([&] { evaluate(*request_.module, prepared); });
  for (const auto& copies : replica.weights) {
    if (copies.empty()) continue;
    const auto weights = copies.front().variable_data();
    const auto changed = weights + 0.01 * (weights.abs() + 0.1) * at::rand_like(weights);
    for (const auto& copy : copies) copy.variable_data().copy_(changed);
  }
  start_again();
  const double second = evaluate(*replica.module, prepared).item<double>();
  before.restore();
  if (std::abs(first - second) <= 1e-6 * std::abs(first))
    return "the loss is the same whatever the weights of the module that it is given: let it use its "
           "argument";
  if (by_replica.overlaps(by_module))
    return "the loss writes to tensors that copies of the module share: register those of the module as "
           "buffers, in reset(), and write to no others";
  return "";
}

}  // namespace sadam::optim::cuda
