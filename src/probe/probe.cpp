#include "probe.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sadam::probe {

ProbeOutcome run(ProbePlan plan, Snapshot& snapshot) {
  const ProbeScope scope(snapshot, plan.parameters, plan.replay, plan.buffers);
  const Loss base = plan.base && !scope.training_is_reduced() ? *plan.base : scope.evaluate(plan.closure);
  ProbeOutcome outcome;
  outcome.base = base.value;
  if (!std::isfinite(base.value)) return outcome;

  const bool along_step = plan.directions.directions == Directions::step && !plan.directions.source;
  const std::int64_t probes = along_step ? 1 : plan.probes;
  const double distance = along_step ? 1 : plan.directions.radius;
  plan.directions.slopes = plan.statistic == Statistic::residual;
  const bool slopes = plan.directions.slopes;
  Perturbation perturbation(snapshot, std::move(plan.directions));

  outcome.within_noise = true;
  for (std::int64_t i = 0; i < probes; ++i) {
    const double slope = perturbation.apply(i);
    const Loss loss = scope.evaluate(plan.closure);
    const double change = loss.value - base.value;
    outcome.differences.push_back(change / distance);
    if (slopes) outcome.slopes.push_back(slope);
    if (!std::isfinite(loss.value)) ++outcome.non_finite;
    // Both losses are rounded, each by up to half a spacing of its type.
    const double spacing =
        std::max(loss.rounding, base.rounding) * std::max(std::abs(base.value), std::abs(loss.value));
    if (!std::isfinite(change) || std::abs(change) > 2 * spacing) outcome.within_noise = false;
  }
  const double raw = along_step ? step_lgi(outcome.differences.front(), outcome.slopes.front())
                                : lgi(plan.statistic, outcome.differences, outcome.slopes, plan.lgi_eps);
  outcome.lgi = std::min(raw, plan.cap);
  return outcome;
}

}  // namespace sadam::probe
