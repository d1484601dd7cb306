// From the options of a group to the scalars of one update.
#pragma once

#include <sadam/choices.h>
#include <sadam/option_list.h>

#include <cmath>
#include <cstdint>

#include "kernels/math.h"

namespace sadam::kernels {

/// The scalars of one Adam update, in double; a kernel rounds each to T once. With r = root_scale·√v' + eps:
///   m' = beta1·m + (1−beta1)·g,   v' = beta2·v + (1−beta2)·g²,   w' = decay·w − step_size·m'/r.
/// Where there are bounds (AdaBound), step_size/r is first brought between them.
/// The three forms of bias correction differ only in root_scale and step_size; the brake is inside step_size.
struct AdamCoefficients {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double root_scale = 1;
  double step_size = 0;
  double decay = 1;
  double lower_bound = 0;
  double upper_bound = 0;  ///< 0: there are none

  SADAM_HD bool is_bounded() const { return upper_bound > 0; }
};

#define SADAM_USUAL(type, name, usual, ...) type name = usual;
#define SADAM_ZERO(type, name, ...) type name{};

/// The options of a group: with Adam's defaults, no brake and nothing of Prox-SGD. They lie where the kernels
/// run, so that a new learning rate reaches a captured graph.
struct GroupRule {
  SADAM_LEARNING_RATE(SADAM_USUAL, kAdamLearningRate)
  SADAM_ADAM_OPTIONS(SADAM_USUAL)
  SADAM_BRAKE_OPTIONS(SADAM_ZERO)
  SADAM_PROX_OPTIONS(SADAM_ZERO)
  SADAM_BOUND_OPTIONS(SADAM_ZERO)
  double given_brake = -1;   ///< a caller's own; negative: none, the brake follows from ρ
  double applied_brake = 1;  ///< the last one
};

static_assert(BiasCorrection{} == BiasCorrection::adamw, "a rule without S-Adam's options is AdamW's");

#undef SADAM_USUAL
#undef SADAM_ZERO

/// The scalars of the t-th update, t ≥ 1.
SADAM_HD AdamCoefficients coefficients_at(const GroupRule& rule, double brake, std::int64_t t) {
  const double correction1 = 1 - std::pow(rule.beta1, static_cast<double>(t));
  const double correction2 = 1 - std::pow(rule.beta2, static_cast<double>(t));
  AdamCoefficients c;
  c.beta1 = rule.beta1;
  c.beta2 = rule.beta2;
  c.eps = rule.eps;
  c.root_scale = 1;
  c.decay = 1 - rule.lr * rule.weight_decay * (rule.damp_weight_decay ? brake : 1);
  c.step_size = rule.lr * brake;
  switch (rule.bias_correction) {
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
  if (rule.final_ratio > 0) {
    const double spread = rule.bound_gamma * static_cast<double>(t);
    c.lower_bound = rule.final_ratio * rule.lr * (1 - 1 / (spread + 1));
    c.upper_bound = rule.final_ratio * rule.lr * (1 + 1 / spread);
  }
  return c;
}

}  // namespace sadam::kernels
