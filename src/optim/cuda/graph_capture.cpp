// How a step becomes a graph, and what is left when it cannot.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/AutogradState.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "../../probe/forward_state.h"
#include "../access.h"
#include "graph_engine.h"

namespace sadam::optim::cuda {
namespace {

constexpr std::size_t kMostGraphs = 8;

// Whether CUDA has refused something that was asked during a stream's capture. What fails is then often a
// later call of somebody else's.
bool is_invalidated(const c10::cuda::CUDAStream& stream) {
  auto status = cudaStreamCaptureStatusNone;
  const auto asked = cudaStreamIsCapturing(stream.stream(), &status);
  return asked == cudaSuccess && status == cudaStreamCaptureStatusInvalidated;
}

// Why a capture failed. CUDA names what it was doing, which says nothing to who wrote the loss.
std::string reason_of(const std::exception& error, bool invalidated) {
  const auto line = first_line_of(error);
  if (!invalidated && line.find("captur") == std::string::npos && line.find("STREAM") == std::string::npos)
    return line;
  return "the loss waits for the device, as .item() does, or allocates outside torch, or an output of the "
         "network with its gradients is still held (" +
         line + ")";
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

// While it lives, backward passes run on the thread that calls for them and not on autograd's, where CUDA
// would let them do what no graph can repeat.
class OneThread {
 public:
  OneThread() : many_(state().get_multithreading_enabled()) { state().set_multithreading_enabled(false); }
  ~OneThread() { state().set_multithreading_enabled(many_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }
  bool many_;
};

}  // namespace

GraphEngine::Captured* GraphEngine::capture(const Key& key, const Inputs& inputs) {
  if (!captured_.empty()) c10::cuda::device_synchronize();  // those that go may be at work
  // After a load the optimizer works with other arrays.
  const auto current = Access::shared_device_work(*request_.optimizer);
  captured_.erase(std::remove_if(captured_.begin(), captured_.end(),
                                 [&](const auto& graph) { return graph->work != current; }),
                  captured_.end());
  if (captured_.size() >= kMostGraphs) captured_.clear();
  check_devices();
  parameters_ = addresses();
  const OneThread one_thread;
  const auto streams_wanted = most_streams_;
  for (;;) {
    // All that the evaluations change is put back, whatever happens.
    std::optional<probe::ForwardState> forward;
    probe::Undo weights(all_parameters());
    auto result = std::make_unique<Captured>();
    result->key = key;
    result->work = Access::shared_device_work(*request_.optimizer);
    const auto undo = [&] {
      c10::cuda::device_synchronize();  // other streams may still be writing
      if (!forward) return;
      clear_gradients();
      forward->restore();
      weights.restore();
    };
    // Gives up what takes memory and is not needed. False if there is nothing left of that.
    const auto make_do_with_less = [&] {
      result.reset();
      if (replicas_.empty() && captured_.empty()) return false;
      if (!captured_.empty()) {
        TORCH_WARN_ONCE(
            "sadam: the GPU's memory is too short for graphs of several shapes at a time, so each new "
            "shape is captured anew: use batches of one size.");
      }
      if (!replicas_.empty()) most_streams_ = 0;
      drop_replicas();
      c10::cuda::CUDACachingAllocator::emptyCache();
      return true;
    };
    try {
      if (!buffers_)
        buffers_ = std::make_unique<Buffers>(*request_.module, Access::buffers(*request_.optimizer));
      forward.emplace(buffers_->own, device_);
      const auto outside = c10::cuda::getCurrentCUDAStream(device_.index());
      for (const auto& input : inputs) result->inputs.push_back(input.detach().to(device_).clone());
      c10::cuda::device_synchronize();
      {
        const c10::cuda::CUDAStreamGuard on_stream(stream_.get());
        warm_up(result->inputs, key, weights);
      }
      join(outside, stream_.get());
      undo();
      c10::cuda::device_synchronize();
      // What the warm-up has left behind cannot be given to the graph, whose memory is its own.
      c10::cuda::CUDACachingAllocator::emptyCache();
    } catch (const Impossible& impossible) {
      undo();
      give_up(impossible.why);
      return nullptr;
    } catch (const std::exception& error) {
      undo();
      const bool out_of_memory = is_out_of_memory(error);
      if (out_of_memory && make_do_with_less()) continue;
      most_streams_ = streams_wanted;  // a smaller batch may have them
      if (out_of_memory) throw Error("the GPU's memory is used up: use a smaller batch.");
      throw;
    } catch (...) {
      undo();
      most_streams_ = streams_wanted;
      throw;
    }
    bool invalidated = false;
    try {
      record(*result, invalidated);
    } catch (const std::exception& error) {
      undo();
      if (is_out_of_memory(error) && make_do_with_less()) continue;
      give_up(is_out_of_memory(error) ? kTooShortForAGraph : reason_of(error, invalidated));
      return nullptr;
    }
    for (const auto& item : work().items()) result->gradients.push_back(item.parameter.grad());
    result->layout = work().layout();
    result->streams = key.probing ? static_cast<std::int64_t>(replicas_.size()) : 0;
    forward->restore_generators();
    captured_.push_back(std::move(result));
    return captured_.back().get();
  }
}

void GraphEngine::record(Captured& result, bool& invalidated) {
  auto state = c10::make_intrusive<at::CUDAGeneratorState>();
  const GeneratorScope scope(device_, state);
  const c10::cuda::CUDAStreamGuard on_stream(stream_.get());
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
    invalidated = is_invalidated(stream_.get());
    abandon(*result.graph, pool, ending);
    throw;
  }
  result.generator = std::move(state);
}

// A capture that broke must be ended all the same, and torch's allocators told so, or the memory is lost.
void GraphEngine::abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, bool ending) const {
  const auto try_to = [](const auto& clean_up) {
    try {
      clean_up();
      return true;
    } catch (const std::exception&) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
  };
  if (!ending) try_to([&] { graph.capture_end(); });
  // A capture that came to its end, whatever failed afterwards, gives its pool back itself.
  if (try_to([&] { graph.pool(); })) return;
  using namespace c10::cuda::CUDACachingAllocator;
  // Each may have been told already.
  try_to([&] { endAllocateToPool(device_.index(), pool); });
  try_to([&] { releasePool(device_.index(), pool); });
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 11)
  try_to([&] { at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool); });
  try_to([&] { at::getHostAllocator(at::kCUDA)->release_pool(pool); });
#endif
}

}  // namespace sadam::optim::cuda
