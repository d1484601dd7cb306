#include "adam_update.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "../probe/parameters.h"
#include "block.h"
#include "state.h"

namespace sadam::optim {

kernels::AdamCoefficients AdamRule::at(std::int64_t t) const {
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(t));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(t));
  kernels::AdamCoefficients c;
  c.beta1 = beta1;
  c.beta2 = beta2;
  c.eps = eps;
  c.decay = 1 - lr * weight_decay * (damp_weight_decay ? brake : 1);
  c.step_size = lr * brake;
  switch (bias_correction) {
    case BiasCorrection::adamw:
      c.root_scale = 1 / std::sqrt(correction2);
      c.step_size /= correction1;
      break;
    case BiasCorrection::reference:
      c.step_size *= std::sqrt(correction2) / correction1;
      break;
    case BiasCorrection::none:
      break;
  }
  return c;
}

AdamRule rule_of(const AdamWOptions& options) {
  AdamRule rule;
  rule.lr = options.lr();
  std::tie(rule.beta1, rule.beta2) = options.betas();
  rule.eps = options.eps();
  rule.weight_decay = options.weight_decay();
  return rule;
}

AdamRule rule_of(const SAdamOptions& options, double brake) {
  AdamRule rule;
  rule.lr = options.lr();
  std::tie(rule.beta1, rule.beta2) = options.betas();
  rule.eps = options.eps();
  rule.weight_decay = options.weight_decay();
  rule.bias_correction = options.bias_correction();
  rule.damp_weight_decay = options.damp_weight_decay();
  rule.brake = brake;
  return rule;
}

std::vector<at::Tensor> moments_of(const torch::optim::OptimizerParamState& state) {
  const auto& moments = static_cast<const AdamWParamState&>(state);
  return {moments.exp_avg(), moments.exp_avg_sq()};
}

void AdamLaunch::add(const at::Tensor& parameter, AdamWParamState& state, const AdamRule& rule) {
  ensure_moment(state.exp_avg(), parameter);
  ensure_moment(state.exp_avg_sq(), parameter);
  entries_.push_back(
      {parameter, probe::laid_out_like(parameter.grad(), parameter), &state, rule.at(state.step() + 1)});
}

void AdamLaunch::run() {
  const at::NoGradGuard no_grad;
  run_as<float>();
  run_as<double>();
  for (auto& entry : entries_) entry.state->step(entry.state->step() + 1);
  entries_.clear();
}

template <class T>
void AdamLaunch::run_as() {
  kernels::AdamUpdate<T> launch;
  launch.threads = at::get_num_threads();
  std::vector<Block> blocks;
  for (auto& entry : entries_) {
    if (entry.parameter.scalar_type() != c10::CppTypeToScalarType<T>::value) continue;
    blocks.emplace_back(entry.parameter);
    launch.segments.push_back({blocks.back().data<T>(), entry.state->exp_avg().template data_ptr<T>(),
                               entry.state->exp_avg_sq().template data_ptr<T>(),
                               entry.gradient.template data_ptr<T>(), entry.parameter.numel(),
                               entry.coefficients});
  }
  if (launch.segments.empty()) return;
  kernels::adam_update(launch);
  for (auto& block : blocks) block.written();
}

}  // namespace sadam::optim
