// The options of a step, one by one: for whoever compares, reads or writes them.
#pragma once

#include <sadam/option_list.h>

#include "step/problem.h"

namespace sadam::step {

#define SADAM_SHOW(type, name, usual, range, meaning) visit(OptionInfo{#name, range, meaning}, all.name);

/// Calls visit(OptionInfo, value) for the options of a group.
template <class Rule, class Visit>
void visit_rule(Rule& all, const Visit& visit) {
  SADAM_LEARNING_RATE(SADAM_SHOW, 1e-3)
  SADAM_ADAM_OPTIONS(SADAM_SHOW)
  SADAM_BRAKE_OPTIONS(SADAM_SHOW)
  SADAM_PROX_OPTIONS(SADAM_SHOW)
}

/// The same for those of the optimizer, but for a caller's source, which is no value.
template <class Plan, class Visit>
void visit_plan(Plan& all, const Visit& visit) {
  SADAM_PROBE_OPTIONS(SADAM_SHOW)
  SADAM_SEED_OPTION(SADAM_SHOW)
}

#undef SADAM_SHOW

#define SADAM_EQUAL(type, name, ...) &&a.name == b.name

inline bool is_same_rule(const kernels::GroupRule& a, const kernels::GroupRule& b) {
  return a.given_brake == b.given_brake SADAM_LEARNING_RATE(SADAM_EQUAL, 0) SADAM_ADAM_OPTIONS(SADAM_EQUAL)
                              SADAM_BRAKE_OPTIONS(SADAM_EQUAL) SADAM_PROX_OPTIONS(SADAM_EQUAL);
}

/// But for the sources.
inline bool is_same_plan(const ProbePlan& a, const ProbePlan& b) {
  return true SADAM_PROBE_OPTIONS(SADAM_EQUAL) SADAM_SEED_OPTION(SADAM_EQUAL);
}

#undef SADAM_EQUAL

}  // namespace sadam::step
