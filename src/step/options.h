// The options by the names that files have for them: one list for every front end.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "step/option_names.h"
#include "step/problem.h"

namespace sadam::step {

/// Calls field(name, value) for the options of Adam's update; `field` may change the value.
template <class Rule, class Field>
void visit_adam(Rule& rule, const Field& field) {
  field("lr", rule.adam.lr);
  field("beta1", rule.adam.beta1);
  field("beta2", rule.adam.beta2);
  field("eps", rule.adam.eps);
  field("weight_decay", rule.adam.weight_decay);
}

/// The same for all of S-Adam's that a group may have for itself.
template <class Rule, class Field>
void visit_s_adam(Rule& rule, const Field& field) {
  visit_adam(rule, field);
  field("damping", rule.damping);
  field("brake", rule.brake);
  field("bias_correction", rule.adam.bias_correction);
  field("damp_weight_decay", rule.adam.damp_weight_decay);
}

/// The same for those of the whole optimizer. A caller's source is no value that a file can hold.
template <class Plan, class Field>
void visit_plan(Plan& plan, const Field& field) {
  field("probes", plan.probes);
  field("radius", plan.radius);
  field("directions", plan.directions);
  field("statistic", plan.statistic);
  field("noise", plan.noise);
  field("lgi_eps", plan.lgi_eps);
  field("cap", plan.cap);
  field("interval", plan.interval);
  field("seed", plan.seed);
  field("group_by_group", plan.group_by_group);
  field("monitor", plan.monitor);
}

/// Whether two plans are the same, as far as files know them.
inline bool is_same_plan(const ProbePlan& a, const ProbePlan& b) {
  const auto bits_of = [](const ProbePlan& plan) {
    std::vector<std::uint64_t> bits;
    visit_plan(plan, [&](const char*, const auto& value) {
      if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>)
        bits.push_back(std::bit_cast<std::uint64_t>(value));
      else
        bits.push_back(static_cast<std::uint64_t>(value));
    });
    return bits;
  };
  return bits_of(a) == bits_of(b);
}

/// Calls field(name, value) for Prox-SGD's.
template <class Rule, class Field>
void visit_prox_sgd(Rule& rule, const Field& field) {
  field("lr", rule.adam.lr);
  field("momentum", rule.momentum);
  field("l1", rule.l1);
}

}  // namespace sadam::step
