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
#include <type_traits>
#include <utility>
#include <vector>

namespace sadam {

/// How a step is captured. What streams gain and copies take was measured on an H200
/// (docs/benchmarks-gpu.md).
struct GraphOptions {
  /// How many probes run side by side, each on a stream of its own beside the base evaluation, with a copy of
  /// the weights and buffers. 0: one after the other, with the weights moved in place. Negative: one for each
  /// probe, at most 8.
  TORCH_ARG(std::int64_t, streams) = -1;
  /// The most device memory, in bytes, that the copies may take; there are fewer streams where they do not
  /// fit. Negative: a quarter of what is free.
  TORCH_ARG(std::int64_t, replica_memory) = -1;
  /// False: never captures.
  TORCH_ARG(bool, capture) = true;
};

/// Takes steps of an optimizer on a GPU as CUDA graphs.
///
///     sadam::GraphedStep step(model, optimizer, [&](const std::vector<torch::Tensor>& batch) {
///       return cross_entropy(model->forward(batch[0]), batch[1]);
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
/// Probes run side by side on copies of the weights and buffers, to which the module points while a probe is
/// enqueued. A forward pass that writes anything but registered buffers, or reads weights through other
/// tensors (a view that was kept), needs `streams(0)`, which moves weights in place; the first step evaluates
/// one probe both ways, and warns and does so if they differ.
///
/// Where the optimizer has joined a group that splits the batch, the first dimension of the first input
/// counts this rank's examples, and all ranks use the same parameters in the loss.
///
/// Gradients are those of the optimizer's parameters; they, like the loss, belong to the graph, and the next
/// step overwrites them. The module and the optimizer must outlive this, and the optimizer may not be moved.
/// All of the module must be on one device; it may be moved to another between steps. Steps are taken by one
/// thread of the process at a time, whatever they train. While one is captured, other threads may use the
/// device, but neither wait for all of it nor draw from torch's default generator.
class GraphedStep {
 public:
  using Inputs = std::vector<torch::Tensor>;
  /// The loss of the module on a batch.
  using Loss = std::function<torch::Tensor(const Inputs&)>;
  /// What a batch is turned into once, before the base and the probe evaluations: whatever does not depend on
  /// the weights.
  using Prepare = std::function<Inputs(const Inputs&)>;

  GraphedStep(std::shared_ptr<torch::nn::Module> module, Optimizer& optimizer, Loss loss,
              const GraphOptions& options = {}, Prepare prepare = nullptr);

  /// For a module holder such as `Net model;`, and a loss of the inputs, or of the module and the inputs.
  template <class Impl, class LossOf>
  GraphedStep(const torch::nn::ModuleHolder<Impl>& model, Optimizer& optimizer, LossOf loss,
              const GraphOptions& options = {}, Prepare prepare = nullptr)
      : GraphedStep(std::static_pointer_cast<torch::nn::Module>(model.ptr()), optimizer,
                    loss_of(model.ptr(), std::move(loss)), options, std::move(prepare)) {}

  /// The same for a pointer to a module.
  template <class Module, class LossOf>
  GraphedStep(const std::shared_ptr<Module>& module, Optimizer& optimizer, LossOf loss,
              const GraphOptions& options = {}, Prepare prepare = nullptr)
      : GraphedStep(std::static_pointer_cast<torch::nn::Module>(module), optimizer,
                    loss_of(module, std::move(loss)), options, std::move(prepare)) {}

  GraphedStep(GraphedStep&&) noexcept;
  ~GraphedStep();

  /// What probes evaluate from now on instead of the loss, of the same inputs: the loss on part of the batch,
  /// say (see StepRequest::probe_parts).
  ///
  ///     step.probe_with([&](const std::vector<torch::Tensor>& batch) {
  ///       return cross_entropy(model->forward(batch[0].narrow(0, 0, 16)), batch[1].narrow(0, 0, 16));
  ///     });
  void probe_with(Loss loss);

  /// One step. Returns the loss of the base evaluation, on the device; the next step overwrites it.
  torch::Tensor operator()(const Inputs& inputs);
  /// With a brake of the caller's instead of probes: for `SAdam` only.
  torch::Tensor operator()(const Inputs& inputs, double brake);

  /// Whether the last step was a graph.
  bool is_captured() const;
  /// Why not, in a sentence; "" if it was.
  const std::string& why_not() const;
  /// Streams that the probes of the last step ran on; 0: the base evaluation's own, or none.
  std::int64_t streams() const;

 private:
  struct Parts;

  template <class Impl, class LossOf>
  static Loss loss_of(std::shared_ptr<Impl> module, LossOf loss) {
    if constexpr (std::is_invocable_v<LossOf&, const Inputs&>)
      return loss;
    else
      return [module = std::move(module), loss = std::move(loss)](const Inputs& inputs) mutable {
        return loss(*module, inputs);
      };
  }

  torch::Tensor take(const Inputs& inputs, const double* brake);

  std::unique_ptr<Parts> parts_;
};

}  // namespace sadam
