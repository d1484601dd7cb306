// Proximal SGD with momentum: the paper's second baseline.
#pragma once

#include <sadam/optimizer.h>
#include <sadam/options_base.h>
#include <torch/arg.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

namespace sadam {

/// Options of `ProxSGD`, with the paper's values as defaults; <sadam/option_list.h> explains each.
struct ProxSGDOptions : public OptionsBase<ProxSGDOptions> {
  /// From the learning rate, as torch's options.
  /* implicit */ ProxSGDOptions(double lr = kProxLearningRate) : lr_(lr) {}

  SADAM_LEARNING_RATE(SADAM_SETTER, kProxLearningRate)
  SADAM_PROX_OPTIONS(SADAM_SETTER)

  // Of the optimizer.
  SADAM_GRADIENT_OPTIONS(SADAM_WIDE_SETTER)
  SADAM_SEED_OPTION(SADAM_WIDE_SETTER)

 public:
  static const char* optimizer_name() { return "ProxSGD"; }
  /// Calls visit(OptionInfo, value) for each option.
  template <class Self, class Visit>
  static void visit_options(Self& options, const Visit& visit) {
    SADAM_LEARNING_RATE(SADAM_VISIT, kProxLearningRate)
    SADAM_PROX_OPTIONS(SADAM_VISIT)
    SADAM_GRADIENT_OPTIONS(SADAM_VISIT)
    SADAM_SEED_OPTION(SADAM_VISIT)
  }
};

extern template struct OptionsBase<ProxSGDOptions>;

/// What `ProxSGD` keeps for each parameter.
struct ProxSGDParamState : public torch::optim::OptimizerCloneableParamState<ProxSGDParamState> {
  /// The heavy ball's velocity.
  TORCH_ARG(torch::Tensor, momentum_buffer);

 public:
  /// Reads from and writes to an archive; called by the optimizer's `load` and `save`.
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  /// Equal in every field.
  friend bool operator==(const ProxSGDParamState& lhs, const ProxSGDParamState& rhs);
};

/// b ← momentum·b + g;  w ← w − lr·b;  w ← sign(w)·max(|w| − lr·l1, 0). One pass over memory.
class ProxSGD : public OptimizerOf<ProxSGDOptions, ProxSGDParamState> {
 public:
  using OptimizerOf::OptimizerOf;
};

extern template class OptimizerOf<ProxSGDOptions, ProxSGDParamState>;

}  // namespace sadam
