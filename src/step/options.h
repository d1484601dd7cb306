// Whether two steps have the same options.
#pragma once

#include <sadam/option_list.h>

#include "step/problem.h"

namespace sadam::step {

#define SADAM_EQUAL(type, name, ...) &&a.name == b.name

inline bool is_same_rule(const kernels::GroupRule& a, const kernels::GroupRule& b) {
  return a.given_brake == b.given_brake SADAM_LEARNING_RATE(SADAM_EQUAL, 0) SADAM_ADAM_OPTIONS(SADAM_EQUAL)
                              SADAM_BRAKE_OPTIONS(SADAM_EQUAL) SADAM_PROX_OPTIONS(SADAM_EQUAL)
                                  SADAM_BOUND_OPTIONS(SADAM_EQUAL);
}

/// But for the sources.
inline bool is_same_plan(const ProbePlan& a, const ProbePlan& b) {
  return true SADAM_PROBE_OPTIONS(SADAM_EQUAL) SADAM_SEED_OPTION(SADAM_EQUAL);
}

inline bool is_same_plan(const GradientPlan& a, const GradientPlan& b) {
  return true SADAM_GRADIENT_OPTIONS(SADAM_EQUAL) SADAM_SEED_OPTION(SADAM_EQUAL);
}

#undef SADAM_EQUAL

}  // namespace sadam::step
