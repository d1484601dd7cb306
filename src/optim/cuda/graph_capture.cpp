// How a step becomes a graph: the warm-up, the capture, the replicas, and what is left when one of them
// fails.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "../../probe/forward_state.h"
#include "../../probe/loss.h"
#include "../access.h"
#include "graph_engine.h"

namespace sadam::optim::cuda {
namespace {

constexpr std::size_t kMostGraphs = 8;

// Why a capture failed. CUDA names what it was doing, which says nothing to who wrote the loss.
std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const auto first_line = text.substr(0, text.find('\n'));
  if (text.find("captur") == std::string::npos) return first_line;
  return "the loss waits for the device, as .item() does, or allocates outside torch (" + first_line + ")";
}

// While it lives, torch's default generator of a device draws from another state.
class GeneratorScope {
 public:
  GeneratorScope(at::Device device, c10::intrusive_ptr<at::CUDAGeneratorState> state)
      : generator_(at::cuda::detail::getDefaultCUDAGenerator(device.index())),
        original_(generator_.graphsafe_get_state()) {
    generator_.graphsafe_set_state(
        at::make_generator<at::CUDAGeneratorImpl>(device.index(), std::move(state)));
  }
  ~GeneratorScope() { generator_.graphsafe_set_state(original_); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  at::Generator generator_;
  at::Generator original_;
};

}  // namespace

GraphEngine::Captured* GraphEngine::capture(const Key& key, const Inputs& inputs) {
  // After a load the optimizer works with other arrays.
  const auto current = Access::shared_device_work(*request_.optimizer);
  captured_.erase(std::remove_if(captured_.begin(), captured_.end(),
                                 [&](const auto& graph) { return graph->work != current; }),
                  captured_.end());
  if (captured_.size() >= kMostGraphs) captured_.clear();
  for (;;) {
    // All that the evaluations change is put back, whatever happens.
    if (!buffers_)
      buffers_ = std::make_unique<Buffers>(*request_.module, Access::buffers(*request_.optimizer));
    const probe::ForwardState forward(buffers_->live, device_);
    auto result = std::make_unique<Captured>();
    result->key = key;
    result->work = Access::shared_device_work(*request_.optimizer);
    const auto undo = [&] {
      c10::cuda::device_synchronize();  // other streams may still be writing
      clear_gradients();
      forward.restore();
    };
    const auto make_do_without_replicas = [&] {
      drop_replicas();
      most_streams_ = 0;
      c10::cuda::CUDACachingAllocator::emptyCache();
    };
    try {
      const auto outside = c10::cuda::getCurrentCUDAStream(device_.index());
      for (const auto& input : inputs) result->inputs.push_back(input.detach().to(device_).clone());
      c10::cuda::device_synchronize();
      {
        const c10::cuda::CUDAStreamGuard on_stream(stream_);
        warm_up(result->inputs, key);
      }
      join(outside, stream_);
      undo();
      c10::cuda::device_synchronize();
      // What the warm-up has left behind cannot be given to the graph, whose memory is its own.
      c10::cuda::CUDACachingAllocator::emptyCache();
    } catch (const c10::OutOfMemoryError&) {
      undo();
      if (replicas_.empty()) throw Error("the GPU's memory is used up: use a smaller batch.");
      make_do_without_replicas();
      continue;
    } catch (...) {
      undo();
      throw;
    }
    try {
      record(*result);
    } catch (const c10::OutOfMemoryError&) {
      undo();
      result.reset();
      if (replicas_.empty()) {
        give_up("the GPU's memory is too short for a graph of its own");
        return nullptr;
      }
      make_do_without_replicas();
      continue;
    } catch (const std::exception& error) {
      undo();
      give_up(reason_of(error));
      return nullptr;
    }
    for (const auto& item : work().items()) result->gradients.push_back(item.parameter.grad());
    result->layout = work().layout();
    forward.restore_generators();
    streams = key.probing ? static_cast<std::int64_t>(replicas_.size()) : 0;
    captured_.push_back(std::move(result));
    return captured_.back().get();
  }
}

void GraphEngine::warm_up(const Inputs& inputs, const Key& key) {
  clear_gradients();
  {  // gradients, from which it is known which parameters are trained
    at::autocast::clear_cache();
    const at::AutoGradMode with_gradients(true);
    const auto loss = request_.loss(*request_.module, request_.prepared(inputs));
    probe::check_loss(loss, "GraphedStep");
    for (const auto& group : request_.optimizer->param_groups())
      for (const auto& parameter : group.params())
        if (parameter.grad().defined())
          throw Error(
              "GraphedStep: the loss called backward itself: let it return the loss and do nothing else.");
    if (!loss.requires_grad())
      throw Error(
          "GraphedStep: the loss does not need gradients: compute it from parameters that require them.");
    if (!loss.is_cuda())
      throw Error("GraphedStep: the loss is on the CPU and the parameters are on a GPU: compute it there.");
    loss.backward();
  }
  Access::check_gradients(*request_.optimizer);
  work().arrange(*request_.optimizer);
  if (key.probing) {
    const bool fit = replicas_made_ && replicas_key_.training == key.training &&
                     replicas_key_.options == key.options && replicas_layout_ == work().layout() &&
                     replicas_work_ == Access::shared_device_work(*request_.optimizer);
    if (!fit) {
      make_replicas(key);
      if (!replicas_.empty() && !loss_follows(replicas_.front(), inputs)) {
        TORCH_WARN(
            "sadam: the loss is the same whatever the weights of the module that it is given, so probes run "
            "one "
            "after the other on the module itself: let the loss use its argument.");
        drop_replicas();
        most_streams_ = 0;
      }
    }
    clear_gradients();
    enqueue(inputs, key.probing, /*apply=*/false, nullptr);
  }
}

// A loss that remembers a module instead of using the one that it is given would see none of the probes.
bool GraphEngine::loss_follows(const Replica& replica, const Inputs& inputs) const {
  const at::NoGradGuard no_grad;
  for (const auto& copies : replica.weights)
    for (const auto& weights : copies) weights.variable_data().fill_(std::nan(""));
  return !std::isfinite(evaluate(*replica.module, request_.prepared(inputs)).item<double>());
}

void GraphEngine::record(Captured& result) {
  auto state = c10::make_intrusive<at::CUDAGeneratorState>();
  const GeneratorScope scope(device_, state);
  const c10::cuda::CUDAStreamGuard on_stream(stream_);
  const auto pool = at::cuda::graph_pool_handle();
  result.graph = std::make_unique<at::cuda::CUDAGraph>();
  // Other threads of the program may use the device meanwhile.
  result.graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  bool ending = false;
  try {
    result.loss = enqueue(result.inputs, result.key.probing, /*apply=*/true, state.get());
    ending = true;
    result.graph->capture_end();
  } catch (...) {
    abandon(*result.graph, pool, ending);
    throw;
  }
  result.generator = std::move(state);
}

// A capture that broke must be ended all the same, and torch's allocator told so, or the memory is lost.
void GraphEngine::abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, bool ending) const {
  bool ended = false;
  try {
    if (!ending) graph.capture_end();
    ended = !ending;
  } catch (const std::exception&) {
    static_cast<void>(cudaGetLastError());
  }
  if (ended) return;
  using namespace c10::cuda::CUDACachingAllocator;
  try {
    endAllocateToPool(device_.index(), pool);
  } catch (const std::exception&) {
    // it was told already
  }
  try {
    releasePool(device_.index(), pool);
  } catch (const std::exception&) {
    // likewise
  }
}

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
    for (std::int64_t i = 0; i < wanted; ++i)
      replicas_.push_back(make_replica(*request_.module, work().items(), *buffers_));
  } catch (const std::exception&) {  // a module that cannot be cloned, or no room for it: in place
    replicas_.clear();
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
}

}  // namespace sadam::optim::cuda
