#include "graph_engine.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "../access.h"

namespace sadam::optim {

std::unique_ptr<GraphedStep::Engine> make_graph_engine(GraphRequest request) {
  return std::make_unique<cuda::GraphEngine>(std::move(request));
}

namespace cuda {

GraphEngine::GraphEngine(GraphRequest request)
    : Engine(std::move(request)),
      stream_(std::get<1>(c10::cuda::CUDAStream::priority_range()), device_),
      most_streams_(request_.options.streams() < 0 ? 8 : request_.options.streams()) {
  why_not = "no step has been taken yet";
  if (!request_.options.capture()) {
    impossible_ = true;
    why_not = "the options ask for eager steps";
  }
}

GraphEngine::~GraphEngine() {
  try {
    const c10::cuda::CUDAGuard guard(device_);
    drop_replicas();
  } catch (const std::exception&) {
    // the device does not answer any more
  }
}

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
  if (!captured_.empty() || !replicas_.empty()) c10::cuda::device_synchronize();  // they may be at work
  captured_.clear();
  replicas_.clear();
  replicas_made_ = false;
}

at::Tensor GraphEngine::step(const Inputs& inputs, std::optional<double> brake) {
  auto& optimizer = *request_.optimizer;
  const c10::cuda::CUDAGuard guard(device_);
  Access::check(optimizer);
  captured = false;
  streams = 0;
  if (s_adam() != nullptr && Access::wide(*s_adam()).group_by_group() && groups().end > 1 && !impossible_)
    give_up("group_by_group with several groups takes turns between probes and updates");
  if (s_adam() != nullptr && Access::wide(*s_adam()).source() && !impossible_)
    give_up("a direction source of the caller's is asked anew in each step");
  const bool dense = std::all_of(inputs.begin(), inputs.end(), [](const at::Tensor& input) {
    return input.defined() && input.layout() == at::kStrided && !input.is_nested();
  });
  if (!dense && !impossible_)
    give_up("an input is sparse, nested or undefined, so it is nowhere for a graph to read");
  if (impossible_) return eager_step(on_device(inputs), brake);
  const bool moved = buffers_ && !buffers_->fits(*request_.module, Access::buffers(optimizer));
  const bool in_use = !captured_.empty() || !replicas_.empty();
  if (moved || (in_use && addresses() != parameters_)) {
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
    if (graph->layout != work().layout()) {
      give_up("the loss does not use the same parameters every time that it is called");
      return eager_step(on_device(inputs), brake);
    }
  }
  try {
    replay(*graph, inputs);
  } catch (const std::exception& error) {  // the first launch takes memory of its own
    if (!is_out_of_memory(error)) throw;
    give_up(kTooShortForAGraph);
    return eager_step(on_device(inputs), brake);
  }
  captured = true;
  streams = graph->streams;
  why_not.clear();
  return graph->loss;
}

GraphedStep::Inputs GraphEngine::on_device(const Inputs& inputs) const {
  Inputs moved;
  for (const auto& input : inputs) moved.push_back(input.defined() ? input.to(device_) : input);
  return moved;
}

GraphEngine::Key GraphEngine::key_of(const Inputs& inputs, bool probing) const {
  Key key;
  for (const auto& input : inputs) {
    key.shapes.push_back(input.sizes().vec());
    key.strides.push_back(input.is_non_overlapping_and_dense() ? input.strides().vec()
                                                               : std::vector<std::int64_t>());
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
    for (std::size_t i = 0; i < inputs.size(); ++i)
      graph.inputs[i].copy_(inputs[i], /*non_blocking=*/inputs[i].is_cuda());
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

}  // namespace cuda
}  // namespace sadam::optim
