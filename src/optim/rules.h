// From the options that a user sets to the plain data of a step.
#pragma once

#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam_options.h>

#include <tuple>

#include "step/problem.h"

namespace sadam::optim {

inline kernels::GroupRule rule_of(const AdamWOptions& options) {
  kernels::GroupRule rule;
  rule.adam.lr = options.lr();
  std::tie(rule.adam.beta1, rule.adam.beta2) = options.betas();
  rule.adam.eps = options.eps();
  rule.adam.weight_decay = options.weight_decay();
  return rule;
}

inline kernels::GroupRule rule_of(const SAdamOptions& options) {
  kernels::GroupRule rule;
  rule.adam.lr = options.lr();
  std::tie(rule.adam.beta1, rule.adam.beta2) = options.betas();
  rule.adam.eps = options.eps();
  rule.adam.weight_decay = options.weight_decay();
  rule.adam.bias_correction = options.bias_correction();
  rule.adam.damp_weight_decay = options.damp_weight_decay();
  rule.damping = options.damping();
  rule.brake = options.brake();
  return rule;
}

inline kernels::GroupRule rule_of(const ProxSGDOptions& options) {
  kernels::GroupRule rule;
  rule.adam.lr = options.lr();
  rule.momentum = options.momentum();
  rule.l1 = options.l1();
  return rule;
}

inline step::ProbePlan plan_of(const SAdamOptions& options) {
  step::ProbePlan plan;
  plan.probes = options.probes();
  plan.radius = options.radius();
  plan.directions = options.directions();
  plan.source = options.source();
  plan.statistic = options.statistic();
  plan.noise = options.noise();
  plan.lgi_eps = options.lgi_eps();
  plan.cap = options.cap();
  plan.interval = options.interval();
  plan.seed = options.seed();
  plan.group_by_group = options.group_by_group();
  plan.monitor = options.monitor();
  return plan;
}

}  // namespace sadam::optim
