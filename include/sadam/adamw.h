// AdamW, fused: the baseline, and what S-Adam becomes without its brake.
#pragma once

#include <sadam/optimizer.h>
#include <sadam/options_base.h>
#include <torch/arg.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

namespace sadam {

/// Options of `AdamW`, the same as `torch::optim::AdamWOptions`; <sadam/option_list.h> explains each.
struct AdamWOptions : public AdamOptionsBase<AdamWOptions> {
  /// From the learning rate, as torch's options.
  /* implicit */ AdamWOptions(double lr = kAdamLearningRate) : lr_(lr) {}

  SADAM_LEARNING_RATE(SADAM_SETTER, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_SETTER)

 public:
  /// Calls visit(OptionInfo, value) for each option.
  template <class Self, class Visit>
  static void visit_options(Self& options, const Visit& visit) {
    SADAM_LEARNING_RATE(SADAM_VISIT, kAdamLearningRate)
    SADAM_ADAM_OPTIONS(SADAM_VISIT)
  }
};

extern template struct OptionsBase<AdamWOptions>;

/// What `AdamW` and `SAdam` keep for each parameter.
struct AdamWParamState : public torch::optim::OptimizerCloneableParamState<AdamWParamState> {
  /// Updates this parameter has had.
  TORCH_ARG(int64_t, step) = 0;
  /// m, the average of the gradient.
  TORCH_ARG(torch::Tensor, exp_avg);
  /// v, the average of its square.
  TORCH_ARG(torch::Tensor, exp_avg_sq);

 public:
  /// Reads from and writes to an archive; called by the optimizer's `load` and `save`.
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  /// Equal in every field.
  friend bool operator==(const AdamWParamState& lhs, const AdamWParamState& rhs);
};

/// AdamW in one pass over memory. In float64 it follows `torch::optim::AdamW` to 1e-12, but for weights whose
/// gradients are nothing but rounding, which Adam magnifies.
class AdamW : public Optimizer {
 public:
  /// All parameters of the module (tied ones once); its buffers are put back when a step fails or is skipped.
  explicit AdamW(const torch::nn::Module& module, const AdamWOptions& defaults = {});
  /// Of a module holder, such as `torch::nn::Sequential model`.
  template <class Impl>
  explicit AdamW(const torch::nn::ModuleHolder<Impl>& model, const AdamWOptions& defaults = {})
      : AdamW(static_cast<const torch::nn::Module&>(*model), defaults) {}
  /// Given tensors.
  explicit AdamW(std::vector<torch::Tensor> parameters, const AdamWOptions& defaults = {});
  /// Groups with options of their own.
  explicit AdamW(std::vector<torch::optim::OptimizerParamGroup> groups, const AdamWOptions& defaults = {});

  using Optimizer::step;
  /// With a closure: clears gradients, evaluates, calls backward, updates, and returns the loss. Without one:
  /// updates from the gradients as they are, and returns an undefined tensor.
  torch::Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "AdamW"; }
  void check_options(const torch::optim::OptimizerOptions& options, const std::string& where) const override;
  void describe(step::Problem& problem) const override;
  void find_state(step::Item& item) override;
  void set_updates(const step::Item& item) override;
  std::unique_ptr<torch::optim::OptimizerParamState> make_state() const override;
  std::vector<torch::Tensor> tensors_of(const torch::optim::OptimizerParamState& state) const override;
};

}  // namespace sadam
