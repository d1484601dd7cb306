// Adam's rule for one parameter and the launch for many: shared by AdamW and SAdam.
#pragma once

#include <sadam/adamw.h>
#include <sadam/s_adam_options.h>

#include <utility>
#include <vector>

#include "../kernels/adam_rule.h"
#include "../kernels/kernels.h"

namespace sadam::optim {

using kernels::AdamRule;

AdamRule rule_of(const AdamWOptions& options);
AdamRule rule_of(const SAdamOptions& options, double brake);

/// The tensors of an Adam state, for checks.
std::vector<at::Tensor> moments_of(const torch::optim::OptimizerParamState& state);

/// Collects parameters and updates them all in one launch for each type.
class AdamLaunch {
 public:
  /// Adds a parameter that has a gradient. Makes its moments if it has none.
  void add(const at::Tensor& parameter, AdamWParamState& state, const AdamRule& rule);

  /// Updates weights and moments, and counts the step in each state.
  void run();

 private:
  template <class T>
  void run_as();

  struct Entry {
    at::Tensor parameter;
    at::Tensor gradient;
    AdamWParamState* state;
    kernels::AdamCoefficients coefficients;
  };
  std::vector<Entry> entries_;
};

}  // namespace sadam::optim
