// What SAdam, AdamW and ProxSGD have in common: how a closure is evaluated and how parameters are checked.
#pragma once

#include <sadam/error.h>
#include <sadam/step_summary.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace torch::nn {
class Module;
}

namespace sadam {

namespace optim {
struct Access;
class BeforeStep;
class DeviceWork;
}  // namespace optim

/// A torch optimizer whose `step(closure)` takes a closure that returns the loss and does nothing else: the
/// optimizer clears the gradients, evaluates the closure once with gradients and calls backward.
///
/// Parameters are float32 or float64, dense, all on one device: the CPU, or a GPU where the library was built
/// with CUDA. A step whose loss or gradient is not finite is skipped: weights, optimizer state and protected
/// buffers stay as they are, `summary()` and `totals()` say so.
///
/// On a GPU a step only enqueues work: loss, ρ, brake and the decision to skip stay on the device.
/// `summary()` and `totals()` wait for it and fetch them, and so does saving.
class Optimizer : public torch::optim::Optimizer {
 public:
  /// Moves, as torch's optimizers do; there is no copy.
  Optimizer(Optimizer&&) = default;
  ~Optimizer() override = default;

  /// Buffers that a failed evaluation puts back and that probes leave untouched. An optimizer built from a
  /// module protects the module's buffers already; this adds to them.
  void protect(const std::vector<torch::Tensor>& buffers);

  /// Hides torch's own, to refuse an unsuitable parameter or group at once rather than at the next step.
  void add_param_group(const torch::optim::OptimizerParamGroup& group);

  /// What happened in the last step.
  const StepSummary& summary() const;

  /// What happened so far.
  const Totals& totals() const;

  /// What `torch::save` calls: writes options, moments and counts.
  void save(torch::serialize::OutputArchive& archive) const override = 0;
  /// What `torch::load` calls: reads them back. A state that does not fit is refused and changes nothing.
  void load(torch::serialize::InputArchive& archive) override = 0;

 protected:
  Optimizer(std::vector<torch::optim::OptimizerParamGroup> groups,
            std::unique_ptr<torch::optim::OptimizerOptions> defaults);

  /// The parameters of a module, tied ones once, as one group. Refuses unsuitable ones by name.
  static std::vector<torch::optim::OptimizerParamGroup> groups_of(const torch::nn::Module& module);

  /// Takes the module's parameter names, for messages, and protects its buffers.
  void adopt(const torch::nn::Module& module);

  /// Refuses, with a sentence that begins with `where`, options of the wrong type or out of range.
  virtual void check_options(const torch::optim::OptimizerOptions& options,
                             const std::string& where) const = 0;

  /// Checks everything that may have changed since the last call: parameters, groups, options. Throws or
  /// changes nothing, except that after a move to the CPU the device's numbers are fetched first.
  void check();

  /// Clears the gradients, evaluates the closure with gradients, calls backward, and returns the loss. If
  /// anything throws, all is put back as in `before`. `caller` names the method in messages.
  torch::Tensor evaluate(const LossClosure& closure, optim::BeforeStep& before, const char* caller);

  /// All that comes before an update: checks, evaluates the closure if there is one (and sets `loss`), starts
  /// the summary. False if the step is to be skipped.
  bool start_step(const LossClosure& closure, const char* caller, torch::Tensor& loss);

  /// Refuses a gradient that the kernels cannot read.
  void check_gradients() const;
  /// Throws where none has one though one should: the loss is of another model.
  void require_a_gradient(const char* caller) const;

  /// Whether a step moves this parameter: it is not frozen and has a gradient.
  static bool is_trained(const torch::Tensor& parameter) {
    return parameter.requires_grad() && parameter.grad().defined();
  }

  /// A new, empty summary for the step that begins.
  void start_summary();
  /// Writes f(w) into the summary, and whether it is finite.
  void note_loss(double loss);

  /// True, and noted and counted, if the loss or a gradient is not finite.
  bool skips_step();

  /// "parameter 'conv.weight'" or "parameter 3 of group 0".
  std::string name_of(std::size_t group, std::size_t index) const;

  /// Whether the parameters are on a GPU.
  bool is_on_device() const { return !device().is_cpu(); }
  /// Where the parameters are.
  c10::Device device() const;
  /// What works there; made at the first use.
  optim::DeviceWork& device_work();
  /// Fetches what a save needs.
  void fetch_from_device() const;
  /// After a load: the device's numbers are out of date.
  void forget_device() { device_work_.reset(); }

  std::vector<torch::Tensor> buffers_;
  mutable StepSummary summary_;  // mutable: fetched from the device when asked for
  mutable Totals totals_;
  std::shared_ptr<optim::DeviceWork> device_work_;  // null on the CPU

 private:
  friend struct optim::Access;

  template <class T>
  std::int64_t count_non_finite_gradients() const;
  void check_parameters(const std::vector<torch::optim::OptimizerParamGroup>& groups) const;
  void check_device(std::size_t group, std::size_t index, const torch::Tensor& tensor,
                    std::optional<c10::Device>& first) const;

  std::unordered_map<const void*, std::string> names_;  // by TensorImpl
  std::vector<const void*> checked_;                    // the TensorImpls that passed check_parameters
};

}  // namespace sadam
