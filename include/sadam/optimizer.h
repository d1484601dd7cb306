// What SAdam, AdamW and ProxSGD have in common: closures, groups, buffers, what happened.
#pragma once

#include <sadam/error.h>
#include <sadam/process_group.h>
#include <sadam/step_summary.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace torch::nn {
class Module;
}

namespace sadam {

namespace kernels {
struct GroupMemory;
}
namespace step {
class Engine;
struct Item;
struct Problem;
struct Request;
}  // namespace step

/// A step told in full, for loops that accumulate gradients, clip them, or bring a brake of their own.
///
///     sadam::StepRequest request;
///     for (const auto& part : parts) request.parts.push_back([&] { return loss_of(part) / parts.size(); });
///     request.before_update = [&] { torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0); };
///     optimizer.step(request);
struct StepRequest {
  /// The loss, in parts that add up. Each is evaluated and differentiated by itself, in this order, so that
  /// only one graph is in memory at a time; probes evaluate all of them, in the same order.
  std::vector<torch::optim::Optimizer::LossClosure> parts;
  /// `SAdam` only: what probes evaluate instead of the parts, and f(w) for them. A loss on a quarter of the
  /// batch makes a probe cost a quarter. Statistics that compare with the gradient (`residual`, and so
  /// `Directions::step`) are refused: theirs is of the whole loss.
  std::vector<torch::optim::Optimizer::LossClosure> probe_parts;
  /// Called after the probes and before the update, unless the step is known to be skipped.
  std::function<void()> before_update;
  /// A brake of the caller's instead of probes, for all groups; `SAdam` only.
  std::optional<double> brake;
  /// With a process group that splits the batch: how many of its examples this rank has, its weight in all
  /// averages. A rank with 0 does not call its closures. 1 on every rank: equal parts.
  std::int64_t examples = 1;
};

/// A torch optimizer whose `step(closure)` takes a closure that returns the loss and does nothing else: the
/// optimizer clears the gradients, evaluates the closure once with gradients and calls backward. (Twice,
/// where its options take the gradient uphill of the weights.)
///
/// Parameters are float32 or float64, dense, all on one device: the CPU, or a GPU where the library was built
/// with CUDA. A step whose loss or gradient is not finite is skipped: weights, optimizer state and protected
/// buffers stay as they are; `summary()` and `totals()` say so, and a warning at the first, tenth, hundredth
/// …
///
/// If anything is thrown during a step with a closure, weights, moments, protected buffers and torch's
/// generators are as before it, and the gradients are cleared. (Where groups take turns, the updates of those
/// before the one that failed stand.)
///
/// On a GPU a step only enqueues work: loss, ρ, brake and the decision to skip stay on the device.
/// `summary()`, `totals()` and `take_summaries()` wait for it and fetch them, and so does saving.
class Optimizer : public torch::optim::Optimizer {
 public:
  /// Moves, as torch's optimizers do; there is no copy.
  Optimizer(Optimizer&&) noexcept;
  ~Optimizer() override;

  /// Buffers that a failed evaluation puts back and that probes leave untouched: those of every module that
  /// the closure runs. An optimizer built from a module protects the module's buffers already; this adds to
  /// them.
  void protect(const std::vector<torch::Tensor>& buffers);

  /// Hides torch's own, to refuse an unsuitable parameter or group at once rather than at the next step.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// Lets go of the gradients, with every libtorch: a parameter that a step does not use is then left alone.
  /// False: sets them to zero.
  void zero_grad(bool set_to_none = true);

  /// From now on this optimizer is one of several, one on each rank of the group (null: alone again). Steps
  /// are those of the whole batch: gradients and losses are averaged over the ranks, so that all have the
  /// same ρ, brake and weights, to the bit, and skip together. What a closure throws on one rank is thrown
  /// there, and an `Error` on all others; no rank takes the step then. (docs/processes.md)
  void join(std::shared_ptr<ProcessGroup> group, const GroupOptions& options = {});
  /// In loops that call backward themselves: the mean of the ranks' gradients, between backward and whatever
  /// reads them. Alone, it does nothing.
  void average_gradients();

  /// With a closure: clears gradients, evaluates, calls backward, updates, and returns the loss. Without one:
  /// updates from the gradients as they are, and returns an undefined tensor.
  torch::Tensor step(LossClosure closure = nullptr) override;
  /// A step told in full. Returns the loss: the sum of the parts.
  torch::Tensor step(const StepRequest& request);

  /// What happened in the last step.
  const StepSummary& summary() const;

  /// What happened so far.
  const Totals& totals() const;

  /// What happened in the steps since the last call, oldest first; at most the last 512 (128 where a step has
  /// thousands of probes).
  std::vector<StepSummary> take_summaries();

  /// What `torch::save` calls: writes options, moments and counts.
  void save(torch::serialize::OutputArchive& archive) const override;
  /// What `torch::load` calls: reads them back. A state that does not fit is refused and changes nothing.
  void load(torch::serialize::InputArchive& archive) override;

 protected:
  Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups,
            std::unique_ptr<torch::optim::OptimizerOptions> defaults);

  /// The parameters of a module, tied ones once, as one group. Refuses unsuitable ones by name.
  static std::vector<torch::optim::OptimizerParamGroup> groups_of(const torch::nn::Module& module);

  /// Refuses an unsuitable parameter by its name.
  static void check_parameter(const std::string& name, const torch::Tensor& parameter);

  /// Takes the module's parameter names, for messages, and protects its buffers.
  void adopt(const torch::nn::Module& module);
  /// Protects these buffers and no others.
  void protect_only(const std::vector<torch::Tensor>& buffers);
  /// Takes the name of one parameter, for messages.
  void set_name(const torch::Tensor& parameter, const std::string& name);

  // ---- what each optimizer says of itself ----
  /// "SAdam".
  virtual const char* name() const = 0;
  /// Refuses, with a sentence that begins with `where`, options of the wrong type or out of range.
  virtual void check_options(const torch::optim::OptimizerOptions& options,
                             const std::string& where) const = 0;
  /// Fills in how the groups are updated and probed.
  virtual void describe(step::Problem& problem) const = 0;
  /// Fills in the state of an item, made if there is none yet.
  virtual void find_state(step::Item& item) = 0;
  /// Writes the count of an item's updates to its state, if it is still there.
  virtual void set_updates(const step::Item& item) = 0;
  /// An empty state and the tensors of one, for loading.
  virtual std::unique_ptr<torch::optim::OptimizerParamState> make_state() const = 0;
  virtual std::vector<torch::Tensor> tensors_of(const torch::optim::OptimizerParamState& state) const = 0;

  /// Checks options that were loaded and lets those of the groups follow the optimizer's. Returns what each
  /// group remembers, if anything.
  virtual std::vector<kernels::GroupMemory> accept(
      torch::serialize::InputArchive& archive, torch::optim::OptimizerOptions& defaults,
      const std::vector<std::unique_ptr<torch::optim::OptimizerOptions>>& options) const = 0;

  /// Checks everything that may have changed since the last call: parameters, groups, options. Throws or
  /// changes nothing.
  virtual void check();
  /// What is to be trained, as it is now, checked.
  step::Problem problem();
  /// A step of the engine's. `caller` names the method in messages.
  torch::Tensor run(const step::Request& request);
  /// Brings the host's part of the parameters' states up to date; waits.
  void fetch_states() const;
  /// What follows a step: on the CPU its numbers are there at once.
  void after_step() const;
  /// Starts from these counts and what each group remembers, as after a load.
  void restore(const Totals& totals, std::vector<kernels::GroupMemory> memory);
  step::Engine& engine() const;

 private:
  friend class GraphedStep;

  void check_parameters(const std::vector<torch::optim::OptimizerParamGroup>& groups) const;
  void check_device(std::size_t group, std::size_t index, const torch::Tensor& tensor,
                    std::optional<c10::Device>& first) const;
  /// "parameter 'conv.weight'" or "parameter 3 of group 0".
  std::string name_of(std::size_t group, std::size_t index) const;
  void warn_of_skips(std::int64_t skipped) const;

  std::unique_ptr<step::Engine> engine_;
  std::vector<torch::Tensor> buffers_;
  std::unordered_map<const void*, std::string> names_;  // by TensorImpl
  std::vector<const void*> checked_;                    // the TensorImpls that passed check_parameters
  mutable std::int64_t next_warning_ = 1;               // of skipped steps
};

/// An optimizer with these options for each group and this state for each parameter.
template <class Options, class State>
class OptimizerOf : public Optimizer {
 public:
  /// All parameters of the module (tied ones once). Its buffers are put back when a step fails or is skipped,
  /// and protected from probes.
  explicit OptimizerOf(const torch::nn::Module& module, const Options& defaults = {});
  /// Of a module holder, such as `torch::nn::Sequential model`.
  template <class Impl>
  explicit OptimizerOf(const torch::nn::ModuleHolder<Impl>& model, const Options& defaults = {})
      : OptimizerOf(static_cast<const torch::nn::Module&>(*model), defaults) {}
  /// Given tensors. Call `protect` for buffers, if the model has any.
  explicit OptimizerOf(std::vector<torch::Tensor> parameters, const Options& defaults = {});
  /// Groups with options of their own.
  explicit OptimizerOf(std::vector<torch::optim::OptimizerParamGroup> groups, const Options& defaults = {});

 protected:
  const char* name() const override { return Options::optimizer_name(); }
  void check_options(const torch::optim::OptimizerOptions& options, const std::string& where) const override;
  void check() override;
  void describe(step::Problem& problem) const override;
  void find_state(step::Item& item) override;
  void set_updates(const step::Item& item) override;
  std::unique_ptr<torch::optim::OptimizerParamState> make_state() const override;
  std::vector<torch::Tensor> tensors_of(const torch::optim::OptimizerParamState& state) const override;
  std::vector<kernels::GroupMemory> accept(
      torch::serialize::InputArchive& archive, torch::optim::OptimizerOptions& defaults,
      const std::vector<std::unique_ptr<torch::optim::OptimizerOptions>>& options) const override;

  /// The options of the whole optimizer.
  const Options& whole() const { return static_cast<const Options&>(defaults()); }
};

}  // namespace sadam
