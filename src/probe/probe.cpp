#include "probe.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sadam::probe {

ProbeOutcome judge(const Judgement& how, const Loss& base, const std::vector<Loss>& probed,
                   std::vector<double> slopes) {
  ProbeOutcome outcome;
  outcome.base = base.value;
  outcome.slopes = std::move(slopes);
  outcome.within_noise = true;
  for (const auto& loss : probed) {
    const double change = loss.value - base.value;
    outcome.differences.push_back(change / how.distance);
    if (!std::isfinite(loss.value)) ++outcome.non_finite;
    // Both losses are rounded, each by half a spacing of the coarsest type on the way to it or more.
    const double spacing = std::max({loss.rounding, base.rounding, how.rounding}) *
                           std::max(std::abs(base.value), std::abs(loss.value));
    if (!std::isfinite(change) || std::abs(change) > 2 * spacing) outcome.within_noise = false;
  }
  const double raw = how.along_step ? step_lgi(outcome.differences.front(), outcome.slopes.front())
                                    : lgi(how.statistic, outcome.differences, outcome.slopes, how.lgi_eps);
  outcome.lgi = std::min(raw, how.cap);
  return outcome;
}

namespace {

Loss base_in(const ProbeScope& scope, const LossClosure& closure, const std::optional<Loss>& base) {
  return base && !scope.training_is_reduced() ? *base : scope.evaluate(closure);
}

}  // namespace

Loss base_of(const LossClosure& closure, const std::optional<Loss>& base, const ForwardState* replay,
             const std::vector<at::Tensor>& buffers) {
  Snapshot nothing_moves;
  return base_in(ProbeScope(nothing_moves, {}, replay, buffers), closure, base);
}

ProbeOutcome run(ProbePlan plan, Snapshot& snapshot) {
  const ProbeScope scope(snapshot, plan.parameters, plan.replay, plan.buffers);
  const Loss base = plan.base_is_exact ? *plan.base : base_in(scope, plan.closure, plan.base);
  if (!std::isfinite(base.value)) {
    ProbeOutcome nothing;
    nothing.base = base.value;
    return nothing;
  }

  Judgement how;
  how.along_step = plan.directions.directions == Directions::step && !plan.directions.source;
  how.distance = how.along_step ? 1 : plan.directions.radius;
  how.statistic = plan.statistic;
  how.lgi_eps = plan.lgi_eps;
  how.cap = plan.cap;
  for (const auto& parameter : plan.parameters)
    how.rounding = std::max(how.rounding, rounding_of(parameter.tensor.scalar_type()));
  const std::int64_t probes = how.along_step ? 1 : plan.probes;
  const bool wants_slopes = plan.statistic == Statistic::residual;
  plan.directions.slopes = wants_slopes;
  Perturbation perturbation(snapshot, std::move(plan.directions));

  std::vector<Loss> probed;
  std::vector<double> slopes;
  for (std::int64_t i = 0; i < probes; ++i) {
    const double slope = perturbation.apply(i);
    if (wants_slopes) slopes.push_back(slope);
    probed.push_back(scope.evaluate(plan.closure));
  }
  return judge(how, base, probed, std::move(slopes));
}

}  // namespace sadam::probe
