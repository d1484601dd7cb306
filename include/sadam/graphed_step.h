// A whole training step as one CUDA graph: forward, backward, probes and update, launched at once.
#pragma once

#include <sadam/optimizer.h>
#include <torch/arg.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sadam {

/// How a step is captured. What streams gain and replicas take was measured on an H200 (docs/benchmarks.md).
struct GraphOptions {
  /// How many probes run side by side, each on a stream of its own beside the base evaluation, on a replica
  /// of the module. 0: one after the other, in place, after the backward pass. Negative: one for each probe,
  /// at most 8.
  TORCH_ARG(std::int64_t, streams) = -1;
  /// The most device memory, in bytes, that the weights and buffers of replicas may take; there are fewer
  /// streams where they do not fit. Negative: a quarter of what is free.
  TORCH_ARG(std::int64_t, replica_memory) = -1;
  /// False: never captures.
  TORCH_ARG(bool, capture) = true;
};

/// Takes steps of an optimizer on a GPU as CUDA graphs.
///
///     sadam::GraphedStep step(model, optimizer, [](auto& net, const std::vector<torch::Tensor>& batch) {
///       return cross_entropy(net.forward(batch[0]), batch[1]);
///     });
///     for (auto& batch : *loader) step({batch.data.to(torch::kCUDA), batch.target.to(torch::kCUDA)});
///
/// The first step with inputs of a new shape warms up (weights, buffers and random generators stay as they
/// are) and captures; later ones copy the inputs to where the graph reads them and launch it. Inputs may be
/// on the host: they have been copied when the step returns, so those on the device are faster. The learning
/// rate and all other options of the groups may change between steps. Dropout draws the same masks in the
/// base and the probe evaluations (unless the optimizer's noise is `fresh`) and new ones in the next step.
///
/// The loss must depend on nothing but the module and the inputs, and may neither wait for the device
/// (`.item()`) nor allocate outside torch. What it or the module decides on the host (a dropout rate, a
/// factor) is as it was at the capture. Where a step cannot be captured, one warning says why and steps are
/// taken eagerly, with the same results; so they are on the CPU, without a warning.
///
/// Probes run side by side on copies of the module. For that it must be a `torch::nn::Cloneable` that
/// registers all its parameters, buffers and submodules in `reset()`; tensors that it only has as members are
/// shared by all copies, and a forward pass may not write them. The loss must be that of the module it is
/// given, not of one that it remembers. Where one of these is not so, a warning says it and probes run one
/// after the other on the module itself. (Writes are noticed where torch's operators make them. What is
/// neither weight nor buffer, and a generator other than torch's default ones, is not put back after the
/// warm-up.)
///
/// Gradients are those of the optimizer's parameters; they, like the loss, belong to the graph, and the next
/// step overwrites them. The module and the optimizer must outlive this, and the optimizer may not be moved.
/// All of the module must be on one device; it may be moved to another between steps. Steps are taken by one
/// thread of the process at a time, whatever they train. While one is captured, other threads may use the
/// device, but neither wait for all of it nor draw from torch's default generator.
class GraphedStep {
 public:
  using Inputs = std::vector<torch::Tensor>;
  /// The loss of a module (the one given, or a replica of it) on a batch.
  using Loss = std::function<torch::Tensor(torch::nn::Module&, const Inputs&)>;
  /// What a batch is turned into once, before the base and the probe evaluations: whatever does not depend on
  /// the weights.
  using Prepare = std::function<Inputs(const Inputs&)>;

  GraphedStep(std::shared_ptr<torch::nn::Module> module, Optimizer& optimizer, Loss loss,
              const GraphOptions& options = {}, Prepare prepare = nullptr);

  /// For a module holder such as `Net model;` and a loss over its implementation.
  template <class Impl, class LossOf>
  GraphedStep(const torch::nn::ModuleHolder<Impl>& model, Optimizer& optimizer, LossOf loss,
              const GraphOptions& options = {}, Prepare prepare = nullptr)
      : GraphedStep(std::static_pointer_cast<torch::nn::Module>(model.ptr()), optimizer,
                    Loss([loss](torch::nn::Module& module, const Inputs& inputs) {
                      return loss(dynamic_cast<Impl&>(module), inputs);
                    }),
                    options, std::move(prepare)) {}

  GraphedStep(GraphedStep&&) noexcept;
  ~GraphedStep();

  /// One step. Returns the loss of the base evaluation, on the device; the next step overwrites it.
  torch::Tensor operator()(const Inputs& inputs);
  /// With a brake of the caller's instead of probes: for `SAdam` only.
  torch::Tensor operator()(const Inputs& inputs, double brake);

  /// Whether the last step was a graph.
  bool is_captured() const;
  /// Why not, in a sentence; "" if it was.
  const std::string& why_not() const;
  /// Streams that the probes of the last step ran on; 0: in place, or none.
  std::int64_t streams() const;

  /// What takes the steps: captured on a GPU, eager elsewhere.
  class Engine;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace sadam
