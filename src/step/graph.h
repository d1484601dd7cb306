// Steps of an engine as graphs: captured once, launched as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "step/engine.h"

namespace sadam::step {

using Inputs = std::vector<at::Tensor>;

/// What captured steps are told once.
struct GraphSettings {
  Engine* engine = nullptr;
  at::Device device = at::kCPU;
  std::function<at::Tensor(const Inputs&)> loss;        ///< of prepared inputs
  std::function<at::Tensor(const Inputs&)> probe_loss;  ///< what probes evaluate instead; null: the same
  std::function<Inputs(const Inputs&)> prepare;         ///< once, before all evaluations; null: nothing to do
  std::int64_t streams = -1;      ///< probes side by side at most; 0: weights are moved in place
  std::int64_t copy_memory = -1;  ///< bytes that their copies may take; negative: a quarter of what is free
  bool capture = true;
};

/// What one captured step is told.
struct GraphStep {
  const Problem& problem;
  const Inputs& inputs;
  std::int64_t examples = 1;        ///< this rank's, in a group that splits the batch
  std::vector<double> brakes;       ///< from outside; empty: probe
  std::vector<bool> modes;          ///< of each module, training or not: another mode is another graph
  std::vector<at::Tensor> weights;  ///< that the loss reads, trained or not: a graph points to them
};

class Graphs {
 public:
  virtual ~Graphs() = default;

  /// One step, as a graph where that is possible, else as the engine takes it. Returns f(w).
  virtual at::Tensor step(const GraphStep& asked) = 0;

  bool captured = false;     ///< the last step was a graph
  std::string why_not;       ///< else, in a sentence
  std::int64_t streams = 0;  ///< that its probes ran on
};

/// How many examples this rank has, in a group that splits the batch: the rows of the first input.
std::int64_t examples_in(const Inputs& inputs, const GraphSettings& settings);

/// What it asks of the engine, but for the loss.
Request request_of(const GraphStep& asked);

/// The losses, of inputs that must outlive the request.
void set_losses(Request& request, const GraphSettings& settings, const Inputs& prepared);

/// A step as the engine takes it, without a graph.
at::Tensor eager_step(const GraphSettings& settings, const GraphStep& asked);

/// Throws `sadam::Error` in a build without CUDA.
std::unique_ptr<Graphs> make_graphs(GraphSettings settings);

}  // namespace sadam::step
