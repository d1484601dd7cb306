// Steps as CUDA graphs.
#pragma once

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../probe/precision.h"
#include "../../probe/writes.h"
#include "../graphed_step.h"
#include "../out_of_memory.h"
#include "device_optimizer.h"
#include "own_stream.h"
#include "replicas.h"

namespace sadam::optim::cuda {

inline const std::string kTooShortForAGraph = "the GPU's memory is too short for a graph of its own";

/// Thrown where a step cannot be captured.
struct Impossible {
  std::string why;
};

class GraphEngine : public GraphedStep::Engine {
 public:
  explicit GraphEngine(GraphRequest request);
  ~GraphEngine() override;

  at::Tensor step(const GraphedStep::Inputs& inputs, std::optional<double> brake) override;

 private:
  using Inputs = GraphedStep::Inputs;

  /// What a graph was captured for. Another step needs another graph.
  struct Key {
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::vector<std::int64_t>> strides;  // of those without gaps, which the graph's have, too
    std::vector<at::ScalarType> types;
    std::vector<bool> training;  // the mode of each module
    bool probing = false;
    SAdamOptions options;  // the optimizer's own; those of groups are read on the device
    probe::PrecisionState precision;
    bool deterministic = false;
    bool operator==(const Key& other) const {
      return shapes == other.shapes && strides == other.strides && types == other.types &&
             training == other.training && probing == other.probing && options == other.options &&
             precision == other.precision && deterministic == other.deterministic;
    }
  };

  struct Captured {
    Key key;
    std::shared_ptr<DeviceWork> work;  // keeps what the graph points to
    std::int64_t layout = 0;
    std::int64_t streams = 0;
    Inputs inputs;
    at::Tensor loss;
    std::vector<at::Tensor> gradients;                     // of each item
    c10::intrusive_ptr<at::CUDAGeneratorState> generator;  // the graph's own; follows torch's default one
    std::unique_ptr<at::cuda::CUDAGraph> graph;
  };

  Key key_of(const Inputs& inputs, bool probing) const;
  Captured* find(const Key& key);
  Captured* capture(const Key& key, const Inputs& inputs);
  /// `invalidated`: whether it failed because CUDA refused something during the capture.
  void record(Captured& captured, bool& invalidated);
  void warm_up(const Inputs& inputs, const Key& key, probe::Undo& weights);
  void replay(Captured& captured, const Inputs& inputs);
  void give_up(const std::string& reason);

  /// The whole step on the current stream and, for probes, on those of the replicas. Without `apply` only the
  /// evaluations. `generator` is null outside a capture.
  at::Tensor enqueue(const Inputs& inputs, bool probing, bool apply, at::CUDAGeneratorState* generator);
  void probe_in_place(const at::Tensor& loss, const Inputs& prepared, const std::function<void()>& rewind,
                      bool recording);
  at::Tensor evaluate(torch::nn::Module& module, const Inputs& prepared) const;
  void make_replicas(const Key& key);
  void check_devices() const;
  void require_all_in_place() const;
  std::vector<at::Tensor> all_parameters() const;  // the module's and the optimizer's
  std::vector<const void*> addresses() const;
  void backward(const at::Tensor& loss) const;
  /// Why probes cannot be evaluated beside the base evaluation, on replicas like this one; "" if they can.
  /// `by_base` is what an evaluation of the module with gradients has written.
  std::string objection_to(const Replica& replica, const Inputs& inputs, const probe::WrittenMemory& by_base);
  void drop_replicas();
  void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool, bool ending) const;
  Inputs on_device(const Inputs& inputs) const;
  bool is_chained() const;

  DeviceOptimizer& work();
  const SAdam* s_adam() const;
  void clear_gradients() const;
  GroupRange groups() const;

  OwnStream stream_;  // of warm-ups and captures
  std::vector<std::unique_ptr<Captured>> captured_;
  std::vector<const void*> parameters_;  // where those of the module were when it was captured
  std::unique_ptr<Buffers> buffers_;
  std::vector<Replica> replicas_;
  std::vector<OwnStream> streams_;  // theirs, kept
  bool replicas_made_ = false;
  Key replicas_key_;  // what they were made for
  std::int64_t replicas_layout_ = 0;
  std::shared_ptr<DeviceWork> replicas_work_;
  std::int64_t most_streams_;
  bool backward_draws_ = false;  // random numbers
  bool impossible_ = false;
};

}  // namespace sadam::optim::cuda
