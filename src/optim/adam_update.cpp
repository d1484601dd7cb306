#include "adam_update.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "../probe/parameters.h"
#include "block.h"
#include "state.h"

namespace sadam::optim {

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
  entries_.push_back({parameter, probe::laid_out_like(parameter.grad(), parameter), &state,
                      kernels::coefficients_at(rule, state.step() + 1)});
}

void AdamLaunch::run() {
  const at::NoGradGuard no_grad;
  run_as<float>();
  run_as<double>();
  at::autocast::clear_cache();  // it holds casts of the weights as they were
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
