// From the options of a group to the scalars of one update.
#pragma once

#include <sadam/bias_correction.h>

#include <cmath>
#include <cstdint>

#include "kernels/math.h"

namespace sadam::kernels {

/// The scalars of one Adam update, in double; a kernel rounds each to T once. With r = root_scale·√v' + eps:
///   m' = beta1·m + (1−beta1)·g,   v' = beta2·v + (1−beta2)·g²,   w' = decay·w − step_size·m'/r.
/// The three forms of bias correction differ only in root_scale and step_size; the brake is inside step_size.
struct AdamCoefficients {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double root_scale = 1;
  double step_size = 0;
  double decay = 1;
};

/// The options of a group that decide its update, with its brake.
struct AdamRule {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  double brake = 1;
  BiasCorrection bias_correction = BiasCorrection::adamw;
  bool damp_weight_decay = false;
};

/// The scalars of the t-th update, t ≥ 1.
SADAM_HD AdamCoefficients coefficients_at(const AdamRule& rule, std::int64_t t) {
  const double correction1 = 1 - std::pow(rule.beta1, static_cast<double>(t));
  const double correction2 = 1 - std::pow(rule.beta2, static_cast<double>(t));
  AdamCoefficients c;
  c.beta1 = rule.beta1;
  c.beta2 = rule.beta2;
  c.eps = rule.eps;
  c.root_scale = 1;
  c.decay = 1 - rule.lr * rule.weight_decay * (rule.damp_weight_decay ? rule.brake : 1);
  c.step_size = rule.lr * rule.brake;
  if (rule.bias_correction == BiasCorrection::adamw) {
    c.root_scale = 1 / std::sqrt(correction2);
    c.step_size /= correction1;
  } else if (rule.bias_correction == BiasCorrection::reference) {
    c.step_size *= std::sqrt(correction2) / correction1;
  }
  return c;
}

}  // namespace sadam::kernels
