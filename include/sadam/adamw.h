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

/// Options of `AdamW`: those of `torch::optim::AdamWOptions`, and what makes SAM, randomized smoothing or
/// AdaBound of it; <sadam/option_list.h> explains each, docs/rivals.md when to use them.
struct AdamWOptions : public AdamOptionsBase<AdamWOptions> {
  /// From the learning rate, as torch's options.
  /* implicit */ AdamWOptions(double lr = kAdamLearningRate) : lr_(lr) {}

  /// AdaBound: step sizes close on `final_lr`, and follow it where a schedule scales `lr`, which must be
  /// above 0. A group with a learning rate of its own closes on as many times that.
  static AdamWOptions adabound(double lr = kAdamLearningRate, double final_lr = 0.1);

  SADAM_LEARNING_RATE(SADAM_SETTER, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_SETTER)
  SADAM_BOUND_OPTIONS(SADAM_SETTER)

  // Of the optimizer.
  SADAM_GRADIENT_OPTIONS(SADAM_WIDE_SETTER)
  SADAM_SEED_OPTION(SADAM_WIDE_SETTER)

 public:
  static const char* optimizer_name() { return "AdamW"; }
  /// Calls visit(OptionInfo, value) for each option.
  template <class Self, class Visit>
  static void visit_options(Self& options, const Visit& visit) {
    SADAM_LEARNING_RATE(SADAM_VISIT, kAdamLearningRate)
    SADAM_ADAM_OPTIONS(SADAM_VISIT)
    SADAM_BOUND_OPTIONS(SADAM_VISIT)
    SADAM_GRADIENT_OPTIONS(SADAM_VISIT)
    SADAM_SEED_OPTION(SADAM_VISIT)
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
class AdamW : public OptimizerOf<AdamWOptions, AdamWParamState> {
 public:
  using OptimizerOf::OptimizerOf;
};

extern template class OptimizerOf<AdamWOptions, AdamWParamState>;

}  // namespace sadam
