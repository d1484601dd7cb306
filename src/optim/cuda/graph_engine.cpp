#include "graph_engine.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
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
#include "../../probe/precision.h"
#include "../access.h"

namespace sadam::optim {

std::unique_ptr<GraphedStep::Engine> make_graph_engine(GraphRequest request) {
  return std::make_unique<cuda::GraphEngine>(std::move(request));
}

namespace cuda {
namespace {

constexpr std::size_t kMostGraphs = 8;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

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

GraphEngine::GraphEngine(GraphRequest request)
    : Engine(std::move(request)),
      device_(Access::device(*request_.optimizer)),
      stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device_.index())),
      most_streams_(request_.options.streams() < 0 ? 8 : request_.options.streams()) {
  why_not = "no step has been taken yet";
  if (!request_.options.capture()) {
    impossible_ = true;
    why_not = "the options ask for eager steps";
  }
}

GraphEngine::~GraphEngine() = default;

DeviceOptimizer& GraphEngine::work() {
  return static_cast<DeviceOptimizer&>(Access::device_work(*request_.optimizer));
}

const SAdam* GraphEngine::s_adam() const { return dynamic_cast<const SAdam*>(request_.optimizer); }

GroupRange GraphEngine::groups() const {
  return {0, static_cast<std::int64_t>(request_.optimizer->param_groups().size())};
}

void GraphEngine::clear_gradients() const {
  for (auto& group : request_.optimizer->param_groups())
    for (auto& parameter : group.params()) parameter.mutable_grad().reset();
}

void GraphEngine::give_up(const std::string& reason) {
  impossible_ = true;
  drop_replicas();
  why_not = reason;
  TORCH_WARN("sadam: the step cannot be captured as a CUDA graph, so steps are taken eagerly: ", reason);
}

// Graphs point to them.
void GraphEngine::drop_replicas() {
  captured_.clear();
  replicas_.clear();
  replicas_made_ = false;
}

// ---- a step -----------------------------------------------------------------------------------------------

at::Tensor GraphEngine::step(const Inputs& inputs, std::optional<double> brake) {
  auto& optimizer = *request_.optimizer;
  const c10::cuda::CUDAGuard guard(device_);
  Access::check(optimizer);
  captured = false;
  if (s_adam() != nullptr && Access::wide(*s_adam()).group_by_group() && groups().end > 1 && !impossible_)
    give_up("group_by_group with several groups takes turns between probes and updates");
  if (s_adam() != nullptr && Access::wide(*s_adam()).source() && !impossible_)
    give_up("a direction source of the caller's is asked anew in each step");
  if (impossible_) return eager_step(on_device(inputs), brake);
  if (buffers_ && !buffers_->fits(*request_.module, Access::buffers(optimizer))) {
    drop_replicas();
    buffers_.reset();
  }

  const bool probing = s_adam() != nullptr && !brake && work().probe_is_due(*s_adam(), groups());
  const auto key = key_of(inputs, probing);
  auto* graph = find(key);
  if (graph != nullptr && graph->layout != work().layout()) {  // an array was replaced since
    drop_replicas();
    graph = nullptr;
  }
  if (graph != nullptr) {
    for (std::size_t i = 0; i < graph->gradients.size(); ++i)
      work().items()[i].parameter.mutable_grad() = graph->gradients[i];
  }
  const std::vector<double> brakes =
      brake ? std::vector<double>(optimizer.param_groups().size(), *brake) : std::vector<double>();
  if (graph != nullptr) work().arrange(optimizer, brakes);
  if (graph != nullptr && graph->layout != work().layout()) {  // or is now
    drop_replicas();
    graph = nullptr;
  }
  if (graph == nullptr) {
    graph = capture(key, inputs);
    if (graph == nullptr) return eager_step(on_device(inputs), brake);
    work().arrange(optimizer, brakes);
  }
  replay(*graph, inputs);
  captured = true;
  why_not.clear();
  return graph->loss;
}

GraphedStep::Inputs GraphEngine::on_device(const Inputs& inputs) const {
  Inputs moved;
  for (const auto& input : inputs) moved.push_back(input.to(device_));
  return moved;
}

GraphEngine::Key GraphEngine::key_of(const Inputs& inputs, bool probing) const {
  Key key;
  for (const auto& input : inputs) {
    key.shapes.push_back(input.sizes().vec());
    key.types.push_back(input.scalar_type());
  }
  for (const auto& module : request_.module->modules()) key.training.push_back(module->is_training());
  key.probing = probing;
  if (s_adam() != nullptr) key.options = Access::wide(*s_adam());
  key.deterministic = at::globalContext().deterministicAlgorithms();
  return key;
}

GraphEngine::Captured* GraphEngine::find(const Key& key) {
  const auto found = std::find_if(captured_.begin(), captured_.end(), [&](const auto& captured_step) {
    return captured_step->key == key &&
           captured_step->work == Access::shared_device_work(*request_.optimizer);
  });
  return found == captured_.end() ? nullptr : found->get();
}

void GraphEngine::replay(Captured& graph, const Inputs& inputs) {
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < inputs.size(); ++i) graph.inputs[i].copy_(inputs[i], /*non_blocking=*/true);
  }
  auto generator = at::cuda::detail::getDefaultCUDAGenerator(device_.index());
  const std::lock_guard<std::mutex> lock(generator.mutex());
  graph.generator->seed_ = generator.current_seed();
  graph.generator->philox_offset_per_thread_ = generator.get_offset();
  graph.graph->replay();
  generator.set_offset(graph.generator->philox_offset_per_thread_);
  for (const auto& item : work().items()) item.parameter.unsafeGetTensorImpl()->bump_version();
  at::autocast::clear_cache();  // it holds casts of the weights as they were
  work().count_step();
}

// ---- capture ----------------------------------------------------------------------------------------------

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
      give_up(first_line(error.what()));
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

}  // namespace cuda
}  // namespace sadam::optim
