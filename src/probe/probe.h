// From a loss to ρ: the k probes of one step.
#pragma once

#include <sadam/directions.h>
#include <sadam/statistic.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "perturbation.h"
#include "probe_scope.h"

namespace sadam::probe {

/// Everything one round of probes needs.
struct ProbePlan {
  std::vector<Parameter> parameters;
  DirectionPlan directions;
  std::int64_t probes = 2;  ///< k
  Statistic statistic = Statistic::variance;
  double lgi_eps = 1e-6;
  double cap = 10;

  LossClosure closure;
  std::optional<Loss> base;              ///< f(w); evaluated by the probe itself if not given
  bool base_is_exact = false;            ///< `base` is from `base_of`
  const ForwardState* replay = nullptr;  ///< null: fresh noise
  std::vector<at::Tensor> buffers;       ///< protected under shared noise
};

/// What the probes found.
struct ProbeOutcome {
  double base = 0;                  ///< f(w)
  std::vector<double> differences;  ///< D_i
  std::vector<double> slopes;       ///< ⟨g, u_i⟩ where wanted
  double lgi = 0;                   ///< ρ after the cap
  bool within_noise = false;
  std::int64_t non_finite = 0;  ///< probes whose loss was not finite
};

/// How the losses of the probes are judged.
struct Judgement {
  bool along_step = false;  ///< one probe along Adam's own step
  double distance = 1;      ///< δ; 1 along the step
  Statistic statistic = Statistic::variance;
  double lgi_eps = 1e-6;
  double cap = 10;
  double rounding = 0;  ///< of the weights' type: what is computed from them is no finer, whatever its type
};

/// From the losses to ρ. `slopes` is empty where they are not wanted.
ProbeOutcome judge(const Judgement& how, const Loss& base, const std::vector<Loss>& probed,
                   std::vector<double> slopes);

/// f(w) as probes see it, in full precision: `base` where training is in full precision, too, else evaluated.
Loss base_of(const LossClosure& closure, const std::optional<Loss>& base, const ForwardState* replay,
             const std::vector<at::Tensor>& buffers);

/// Evaluates the probes and leaves the weights as they were. If f(w) itself is not finite, nothing is probed.
ProbeOutcome run(ProbePlan plan, Snapshot& snapshot);

}  // namespace sadam::probe
