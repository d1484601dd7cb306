// Steps as CUDA graphs: which ones are kept, how one is captured, and what happens where that is impossible.
#include "step/graph.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/AutogradState.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <sadam/error.h>
#include <torch/version.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "step/attempt.h"
#include "step/cuda/backend.h"
#include "step/cuda/own_stream.h"
#include "step/options.h"
#include "step/out_of_memory.h"
#include "step/precision.h"

namespace sadam::step {
namespace cuda {
namespace {

constexpr std::size_t kMostGraphs = 8;
constexpr std::int64_t kMostStreams = 8;
const std::string kTooShortForAGraph = "the GPU's memory is too short for a graph of its own";

/// Thrown where a step cannot be captured.
struct Impossible {
  std::string why;
};

// Of the stream of lane i: below that of the base evaluation, and falling, so that on a busy GPU the first
// ones go ahead and the others fill the gaps (docs/benchmarks-gpu.md).
int priority_of(std::int64_t i) {
  const auto greatest = std::get<1>(c10::cuda::CUDAStream::priority_range());  // −3, say
  return static_cast<int>(std::min<std::int64_t>(0, greatest + 1 + i / 2));
}

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

// Weights that a forward pass may write while it is rehearsed; on the host where there is no room beside
// them.
class KeptWeights {
 public:
  KeptWeights(const std::vector<at::Tensor>& tensors, bool on_host) {
    const at::NoGradGuard no_grad;
    for (const auto& tensor : tensors) {
      const auto memory = tensor.variable_data();
      const auto place = on_host ? at::Device(at::kCPU) : memory.device();
      kept_.push_back(
          {tensor, memory, memory.to(place, memory.scalar_type(), /*non_blocking=*/false, /*copy=*/true)});
    }
  }
  void restore() const {
    const at::NoGradGuard no_grad;
    for (const auto& one : kept_) {
      one.memory.copy_(one.copy);
      if (!one.tensor.is_alias_of(one.memory)) one.tensor.set_data(one.memory);
    }
  }

 private:
  struct Kept {
    at::Tensor tensor, memory, copy;
  };
  std::vector<Kept> kept_;
};

// Where all that a graph points to is.
std::vector<const void*> addresses_of(const GraphStep& asked) {
  std::vector<const void*> all;
  for (const auto* tensors : {&asked.weights, &asked.problem.buffers})
    for (const auto& tensor : *tensors)
      all.push_back(tensor.layout() == at::kStrided ? tensor.data_ptr() : tensor.unsafeGetTensorImpl());
  return all;
}

// How often torch's operators have written to each of them.
std::vector<std::uint32_t> versions_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::uint32_t> all;
  for (const auto& tensor : tensors)
    all.push_back(tensor.unsafeGetTensorImpl()->version_counter().current_version());
  return all;
}

class CudaGraphs : public Graphs {
 public:
  explicit CudaGraphs(GraphSettings settings);
  ~CudaGraphs() override;
  at::Tensor step(const GraphStep& asked) override;

 private:
  /// What a graph was captured for. Another step needs another graph.
  struct Key {
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::vector<std::int64_t>> strides;  // of those without gaps, which the graph's have, too
    std::vector<at::ScalarType> types;
    std::vector<bool> modes;
    bool probing = false;
    ProbePlan plan;  // the options of groups are read on the device
    GradientPlan gradient;
    Precision precision;
    bool deterministic = false;
    std::int64_t examples = 1;
    std::int64_t joins = 0;
    bool operator==(const Key& other) const {
      return shapes == other.shapes && strides == other.strides && types == other.types &&
             modes == other.modes && probing == other.probing && is_same_plan(plan, other.plan) &&
             is_same_plan(gradient, other.gradient) && precision == other.precision &&
             deterministic == other.deterministic && examples == other.examples && joins == other.joins;
    }
  };

  struct Captured {
    Key key;
    std::int64_t layout = 0;
    std::shared_ptr<const Numbers> numbers;  // that it points to
    std::int64_t streams = 0;
    Inputs inputs;
    at::Tensor loss;
    std::vector<at::Tensor> gradients;                     // of each item
    c10::intrusive_ptr<at::CUDAGeneratorState> generator;  // the graph's own; follows torch's default one
    std::unique_ptr<at::cuda::CUDAGraph> graph;
  };

  Engine& engine() const { return *settings_.engine; }
  CudaBackend& backend() const { return static_cast<CudaBackend&>(engine().backend()); }

  std::string objection_to(const GraphStep& asked) const;
  Key key_of(const GraphStep& asked, bool probing) const;
  Captured* find(const Key& key);
  Captured* capture(const Key& key, const GraphStep& asked);
  void rehearse(const Captured& result, const GraphStep& asked);
  /// `invalidated`: whether it failed because CUDA refused something during the capture.
  void record(Captured& result, const GraphStep& asked, bool& invalidated);
  at::Tensor take(const Inputs& inputs, const GraphStep& asked, bool rehearsal);
  void replay(Captured& graph, const GraphStep& asked);
  void wait_for_ranks();
  at::Tensor step_eagerly(const GraphStep& asked) const;
  void make_lanes(const GraphStep& asked, bool probing);
  bool make_do_with_less();
  void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, bool ending) const;
  void give_up(const std::string& reason);
  void drop();

  GraphSettings settings_;
  at::Device device_;
  OwnStream stream_;  // of warm-ups and captures
  std::vector<std::unique_ptr<Captured>> captured_;
  std::vector<const void*> addresses_;  // of what the graphs point to
  Lanes lanes_;
  std::optional<ProbePlan> lanes_plan_;  // that they were made for
  std::vector<OwnStream> streams_;       // theirs, kept
  std::int64_t most_streams_;
  bool keeps_on_host_ = false;  // the weights, during a rehearsal
  bool impossible_ = false;
  bool is_lost_ = false;          // a rank is gone, and the device waits for it
  at::cuda::CUDAEvent replayed_;  // the last graph, where there are several ranks
};

CudaGraphs::CudaGraphs(GraphSettings settings)
    : settings_(std::move(settings)),
      device_(settings_.device),
      stream_(std::get<1>(c10::cuda::CUDAStream::priority_range()), device_),
      most_streams_(settings_.streams < 0 ? kMostStreams : settings_.streams) {
  why_not = "no step has been taken yet";
  if (settings_.capture) return;
  impossible_ = true;
  why_not = "the options ask for eager steps";
}

CudaGraphs::~CudaGraphs() {
  try {
    const c10::cuda::CUDAGuard guard(device_);
    drop();
  } catch (const std::exception&) {
    // the device does not answer any more
  }
}

// ---- a step -----------------------------------------------------------------------------------------------

at::Tensor CudaGraphs::step(const GraphStep& asked) {
  const c10::cuda::CUDAGuard guard(device_);
  captured = false;
  streams = 0;
  if (const auto objection = objection_to(asked); !objection.empty() && !impossible_) give_up(objection);
  if (impossible_ || asked.examples == 0) return step_eagerly(asked);
  if (!captured_.empty() && addresses_of(asked) != addresses_) drop();

  const bool probing = asked.brakes.empty() && engine().is_due(asked.problem, asked.problem.all_groups());
  const auto key = key_of(asked, probing);
  auto* graph = find(key);
  if (graph != nullptr) {
    for (std::size_t i = 0; i < graph->gradients.size(); ++i)
      engine().items()[i].parameter.mutable_grad() = graph->gradients[i];
    engine().arrange(asked.problem, request_of(asked));
    if (graph->layout != engine().layout()) {  // an array that it points to was replaced
      drop();
      graph = nullptr;
    }
  }
  if (graph == nullptr) {
    graph = capture(key, asked);
    if (graph == nullptr) return step_eagerly(asked);
    engine().arrange(asked.problem, request_of(asked));
    if (graph->layout != engine().layout()) {
      give_up("the loss does not use the same parameters every time that it is called");
      return step_eagerly(asked);
    }
  }
  try {
    if (engine().ranks().are_several()) engine().compare_ranks(asked.problem);
    replay(*graph, asked);
  } catch (const std::exception& error) {  // the first launch takes memory of its own
    if (!is_out_of_memory(error)) throw;
    give_up(kTooShortForAGraph);
    return step_eagerly(asked);
  }
  captured = true;
  streams = graph->streams;
  why_not.clear();
  return graph->loss;
}

std::string CudaGraphs::objection_to(const GraphStep& asked) const {
  const auto& plan = asked.problem.plan;
  if (plan && plan->group_by_group && asked.problem.rules.size() > 1)
    return "group_by_group with several groups takes turns between probes and updates";
  if (plan && plan->source) return "a direction source of the caller's is asked anew in each step";
  const bool dense = std::all_of(asked.inputs.begin(), asked.inputs.end(), [](const at::Tensor& input) {
    return input.defined() && input.layout() == at::kStrided && !input.is_nested();
  });
  return dense ? "" : "an input is sparse, nested or undefined, so it is nowhere for a graph to read";
}

at::Tensor CudaGraphs::step_eagerly(const GraphStep& asked) const {
  Inputs moved;
  for (const auto& input : asked.inputs) moved.push_back(input.defined() ? input.to(device_) : input);
  return eager_step(settings_, {asked.problem, moved, asked.examples, asked.brakes, {}, {}});
}

CudaGraphs::Key CudaGraphs::key_of(const GraphStep& asked, bool probing) const {
  Key key;
  for (const auto& input : asked.inputs) {
    key.shapes.push_back(input.sizes().vec());
    key.strides.push_back(input.is_non_overlapping_and_dense() ? input.strides().vec()
                                                               : std::vector<std::int64_t>());
    key.types.push_back(input.scalar_type());
  }
  key.modes = asked.modes;
  key.examples = asked.examples;
  key.joins = engine().ranks().joins();
  key.probing = probing;
  if (asked.problem.plan) key.plan = *asked.problem.plan;
  key.gradient = asked.problem.gradient;
  key.deterministic = at::globalContext().deterministicAlgorithms();
  return key;
}

CudaGraphs::Captured* CudaGraphs::find(const Key& key) {
  for (const auto& graph : captured_)
    if (graph->key == key && graph->layout == engine().layout()) return graph.get();
  return nullptr;
}

void CudaGraphs::replay(Captured& graph, const GraphStep& asked) {
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < asked.inputs.size(); ++i)
      graph.inputs[i].copy_(asked.inputs[i], /*non_blocking=*/asked.inputs[i].is_cuda());
  }
  auto generator = at::cuda::detail::getDefaultCUDAGenerator(device_.index());
  const std::lock_guard<std::mutex> lock(generator.mutex());
  graph.generator->seed_ = generator.current_seed();
  graph.generator->philox_offset_per_thread_ = generator.get_offset();
  if (engine().ranks().are_several()) wait_for_ranks();
  graph.graph->replay();
  if (engine().ranks().are_several()) replayed_.record();
  generator.set_offset(graph.generator->philox_offset_per_thread_);
  for (const auto& item : engine().items()) item.parameter.unsafeGetTensorImpl()->bump_version();
  at::autocast::clear_cache();  // it holds casts of the weights as they were
  engine().count_step();
}

// Should a rank be gone, nobody but the host notices: it is one step ahead at most. A graph that waits for
// that rank never ends, so it is never destroyed either.
void CudaGraphs::wait_for_ranks() {
  try {
    engine().ranks().wait_until([this] { return replayed_.query(); });
  } catch (...) {
    for (auto& one : captured_) static_cast<void>(one.release());
    captured_.clear();
    impossible_ = is_lost_ = true;
    throw;
  }
}

// The engine's own step, on the current stream and those of the lanes.
at::Tensor CudaGraphs::take(const Inputs& inputs, const GraphStep& asked, bool rehearsal) {
  const auto prepared = settings_.prepare ? settings_.prepare(inputs) : inputs;
  auto request = request_of(asked);
  set_losses(request, settings_, prepared);
  request.lanes = &lanes_;
  request.rehearsal = rehearsal;
  request.recorded = !rehearsal;
  return engine().step(asked.problem, request);
}

// ---- capturing --------------------------------------------------------------------------------------------

// How many probes run side by side, and on which streams: settled once for a plan.
void CudaGraphs::make_lanes(const GraphStep& asked, bool probing) {
  const bool in_place = most_streams_ == 0 || engine().wants_in_place();
  const bool settled = !lanes_.lanes.empty() && lanes_.in_place == in_place;
  if (settled && (!probing || (lanes_plan_ && is_same_plan(*lanes_plan_, *asked.problem.plan)))) return;
  drop();  // graphs point to them
  lanes_.in_place = in_place;
  lanes_plan_.reset();
  std::int64_t wanted = 0;
  if (probing) {
    const auto& plan = *asked.problem.plan;
    lanes_plan_ = plan;
    if (!in_place && !plan.is_along_step()) wanted = std::min(most_streams_, plan.evaluations());
    // Fresh noise updates the buffers in each evaluation, one after the other.
    if (!plan.is_shared() && !asked.problem.buffers.empty()) wanted = std::min<std::int64_t>(wanted, 1);
    std::vector<at::Tensor> copied;
    for (const auto& item : asked.problem.items) copied.push_back(item.parameter);
    const auto each = Copies::bytes_for(copied) + Copies::bytes_for(asked.problem.buffers);
    std::size_t free = 0;
    std::size_t total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    const auto allowed =
        settings_.copy_memory >= 0 ? settings_.copy_memory : static_cast<std::int64_t>(free / 4);
    wanted = std::min(wanted, allowed / std::max<std::int64_t>(each, 1));
  }
  lanes_.lanes.resize(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 1)));
  for (std::size_t i = 0; wanted > 0 && i < lanes_.lanes.size(); ++i) {
    if (i == streams_.size()) streams_.emplace_back(priority_of(static_cast<std::int64_t>(i)), device_);
    lanes_.lanes[i].stream = streams_[i].get().unwrap();
  }
}

CudaGraphs::Captured* CudaGraphs::capture(const Key& key, const GraphStep& asked) {
  if (captured_.size() >= kMostGraphs) drop();
  // Those of numbers that are gone.
  if (std::any_of(captured_.begin(), captured_.end(),
                  [&](const auto& graph) { return graph->layout != engine().layout(); }))
    drop();
  const OneThread one_thread;
  const auto streams_wanted = most_streams_;
  addresses_ = addresses_of(asked);
  for (;;) {
    auto result = std::make_unique<Captured>();
    result->key = key;
    try {
      make_lanes(asked, key.probing);
      for (const auto& input : asked.inputs) result->inputs.push_back(input.detach().to(device_).clone());
      const auto versions = versions_of(asked.weights);
      rehearse(*result, asked);
      if (versions_of(asked.weights) != versions && most_streams_ > 0 && key.probing) {
        most_streams_ = 0;
        TORCH_WARN(
            "sadam: the forward pass writes to weights, so probes run one after the other, with the weights "
            "moved in place: let it write to nothing but registered buffers.");
      }
      if ((most_streams_ == 0 || engine().wants_in_place()) && !lanes_.in_place) continue;
    } catch (const Impossible& impossible) {
      give_up(impossible.why);
      return nullptr;
    } catch (const std::exception& error) {
      const bool out_of_memory = is_out_of_memory(error);
      result.reset();
      if (out_of_memory && make_do_with_less()) continue;
      most_streams_ = streams_wanted;  // a smaller batch may have them
      if (out_of_memory) throw Error("the GPU's memory is used up: use a smaller batch.");
      throw;
    }
    bool invalidated = false;
    try {
      record(*result, asked, invalidated);
    } catch (const std::exception& error) {
      result.reset();
      for (const auto& item : asked.problem.items) item.parameter.mutable_grad().reset();
      const bool out_of_memory = is_out_of_memory(error);
      if (out_of_memory && make_do_with_less()) continue;
      give_up(out_of_memory ? kTooShortForAGraph : reason_of(error, invalidated));
      return nullptr;
    }
    for (const auto& item : engine().items()) result->gradients.push_back(item.parameter.grad());
    result->layout = engine().layout();
    result->numbers = engine().numbers();
    const bool side_by_side = lanes_.lanes.front().stream.has_value();
    result->streams = key.probing && side_by_side ? static_cast<std::int64_t>(lanes_.lanes.size()) : 0;
    captured_.push_back(std::move(result));
    return captured_.back().get();
  }
}

// Shows what is trained and whether there can be a graph; makes all that a capture may not allocate. Weights,
// buffers and generators are as they were afterwards, whatever happens.
void CudaGraphs::rehearse(const Captured& result, const GraphStep& asked) {
  const auto outside = c10::cuda::getCurrentCUDAStream(device_.index());
  c10::cuda::device_synchronize();
  const KeptWeights weights(asked.weights, keeps_on_host_);
  const auto undo = [&] {
    c10::cuda::device_synchronize();  // other streams may still be writing
    weights.restore();
  };
  try {
    engine().use(asked.problem);
    const CudaBackend::ForGraph for_graph(backend());
    const c10::cuda::CUDAStreamGuard on_stream(stream_.get());
    take(result.inputs, asked, /*rehearsal=*/true);
    if (addresses_of(asked) != addresses_)
      throw Impossible{"the forward pass replaces weights or buffers instead of writing to them"};
  } catch (...) {
    undo();
    throw;
  }
  join_streams(outside.unwrap(), stream_.get().unwrap());
  undo();
  c10::cuda::device_synchronize();
  // What the rehearsal has left behind cannot be given to the graph, whose memory is its own.
  c10::cuda::CUDACachingAllocator::emptyCache();
}

void CudaGraphs::record(Captured& result, const GraphStep& asked, bool& invalidated) {
  auto state = c10::make_intrusive<at::CUDAGeneratorState>();
  const GeneratorScope scope(device_, state);
  const CudaBackend::ForGraph for_graph(backend(), state.get());
  const c10::cuda::CUDAStreamGuard on_stream(stream_.get());
  const auto pool = at::cuda::graph_pool_handle();
  result.graph = std::make_unique<at::cuda::CUDAGraph>();
  // Other threads of the program may use the device meanwhile.
  result.graph->capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  bool ending = false;
  try {
    result.loss = take(result.inputs, asked, /*rehearsal=*/false);
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
void CudaGraphs::abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, bool ending) const {
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

// Gives up what takes memory and is not needed. False if there is nothing left of that.
bool CudaGraphs::make_do_with_less() {
  const bool side_by_side = !lanes_.lanes.empty() && lanes_.lanes.front().stream.has_value();
  if (!side_by_side && captured_.empty()) return !std::exchange(keeps_on_host_, true);
  if (!captured_.empty()) {
    TORCH_WARN_ONCE(
        "sadam: the GPU's memory is too short for graphs of several shapes at a time, so each new shape is "
        "captured anew: use batches of one size.");
  }
  if (side_by_side) most_streams_ = 0;
  drop();
  c10::cuda::CUDACachingAllocator::emptyCache();
  return true;
}

void CudaGraphs::give_up(const std::string& reason) {
  impossible_ = true;
  drop();
  why_not = reason;
  TORCH_WARN("sadam: the step cannot be captured as a CUDA graph, so steps are taken eagerly: ", reason);
}

void CudaGraphs::drop() {
  if (is_lost_) return;
  if (!captured_.empty() || !lanes_.lanes.empty()) c10::cuda::device_synchronize();  // they may be at work
  captured_.clear();
  lanes_.lanes.clear();
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Graphs> make_graphs(GraphSettings settings) {
  return std::make_unique<cuda::CudaGraphs>(std::move(settings));
}

}  // namespace sadam::step
