// What happened in a step: every number the optimizer computed on the way.
#pragma once

#include <cstdint>
#include <vector>

namespace sadam {

/// Filled by each step. All logging is made from this. AdamW and ProxSGD leave ρ at 0 and the brake at 1.
struct StepSummary {
  std::int64_t step = 0;  ///< steps taken before this one
  double loss = 0;        ///< f(w) of the base evaluation; NaN for a `step()` without a closure

  bool probed = false;  ///< probes were evaluated; else ρ is the last one (see `interval`), or 0 if none
  std::vector<double> differences;  ///< D_i; for `Directions::step` the one value f(w + Δ) − f(w)
  std::vector<double> slopes;  ///< ⟨g, u_i⟩, with the residual statistic only; ⟨g, Δ⟩ for `Directions::step`
  double lgi = 0;              ///< ρ after the cap, 0 if never probed
  double brake = 1;            ///< the factor on the step
  std::vector<double> group_lgi;  ///< ρ of each group: all equal, except where groups are probed one by one
  std::vector<double>
      group_brakes;          ///< brake of each group. `lgi` and `brake` above are those of the last group
  double probe_seconds = 0;  ///< wall time of perturbing, evaluating and restoring; 0 for
                             ///< whole steps on a GPU, which are not waited for

  /// The largest |f(w + δu) − f(w)| was within rounding of f: ρ then measures arithmetic, not geometry.
  bool within_noise = false;

  bool skipped = false;              ///< f(w) or a gradient was not finite: weights and state are untouched
  std::int64_t non_finite_loss = 0;  ///< 1 if f(w) was not finite
  std::int64_t non_finite_gradient = 0;  ///< elements of the gradient that were not finite
  std::int64_t non_finite_probes = 0;  ///< probes whose loss was not finite; each such step has the largest ρ
};

/// Sums over the optimizer's life; saved and loaded with it.
struct Totals {
  std::int64_t steps = 0;              ///< updates applied
  std::int64_t skipped = 0;            ///< steps skipped for a loss or gradient that was not finite
  std::int64_t non_finite_probes = 0;  ///< probes whose loss was not finite
};

}  // namespace sadam
