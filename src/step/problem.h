// A step as plain data: what is trained, by which rules, and what one step is asked for. Whoever fills this
// in is a front end; the engine knows nothing else of it.
#pragma once

#include <sadam/choices.h>
#include <sadam/directions.h>
#include <sadam/option_list.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/step_numbers.h"
#include "step/item.h"
#include "step/loss.h"

namespace sadam::step {

/// How a step is probed: the options that belong to the whole optimizer.
struct ProbePlan {
#define SADAM_USUAL(type, name, usual, ...) type name = usual;
  SADAM_PROBE_OPTIONS(SADAM_USUAL)
  SADAM_SEED_OPTION(SADAM_USUAL)
  DirectionSource source;  ///< overrides `directions` when set

  bool is_along_step() const { return directions == Directions::step && !source; }
  bool is_shared() const { return noise == ProbeNoise::shared; }
  bool wants_slopes() const { return kernels::reads_slopes(statistic); }
  /// Forward passes of a round.
  std::int64_t evaluations() const { return is_along_step() ? 1 : probes; }
};

/// Where the gradient is taken.
struct GradientPlan {
  SADAM_GRADIENT_OPTIONS(SADAM_USUAL)
  SADAM_SEED_OPTION(SADAM_USUAL)

  /// Where the gradient at the weights leads: two evaluations.
  bool is_uphill() const {
    switch (gradient_at) {
      case GradientAt::ascent:
      case GradientAt::adaptive_ascent:
        return true;
      case GradientAt::weights:
      case GradientAt::nearby:
        return false;
    }
    return false;  // no place at all
  }
  bool is_nearby() const { return gradient_at == GradientAt::nearby; }
  /// The plan whose first probe is that place, where `is_nearby`.
  ProbePlan probe() const {
    ProbePlan plan;
    plan.radius = gradient_radius;
    plan.seed = seed;
    return plan;
  }
};
#undef SADAM_USUAL

enum class Update { adam, prox_sgd };

/// What is trained. A front end fills it in anew for each step: a model or its options may have changed.
struct Problem {
  Items items;                            ///< the trainable parameters of all groups, in order
  std::vector<kernels::GroupRule> rules;  ///< one for each group
  Update update = Update::adam;
  GradientPlan gradient;
  std::optional<ProbePlan> plan;       ///< none: never probes
  std::vector<at::Tensor> buffers;     ///< what evaluations may change and probes leave alone
  std::vector<at::Tensor> parameters;  ///< those of all groups, frozen ones too
  /// Fills in the state of an item that has a gradient; makes it if there is none yet.
  std::function<void(Item&)> find_state;
  /// Tells how many updates an item has had, where the front end may not have heard of them.
  std::function<void(const Item&)> set_updates;
  /// "parameter 'conv.weight'": for messages.
  std::function<std::string(const Item&)> name_of;

  GroupRange all_groups() const { return {0, static_cast<std::int64_t>(rules.size())}; }
};

struct Lanes;

/// What one step is asked for.
struct Request {
  /// The loss, or parts of it that add up, each evaluated and differentiated by itself. None: the gradients
  /// are there already.
  std::vector<LossClosure> parts;
  /// What probes evaluate instead, and f(w) for them: a loss on part of the batch, say. Empty: the same.
  std::vector<LossClosure> probe_parts;
  /// Called once, after the probes and before the update: gradient clipping.
  std::function<void()> before_update;
  /// Brakes from outside, one for each group, instead of probes.
  std::vector<double> brakes;
  /// How many of the batch's examples this rank of a group has: its weight. 0: its closures are not called.
  std::int64_t examples = 1;
  std::string caller = "step";  ///< for messages

  // ---- for a step that is captured as a graph ----
  Lanes* lanes = nullptr;  ///< where probes run; null: one after the other, on the current stream
  bool rehearsal = false;  ///< everything up to the update; then all is put back
  bool recorded = false;   ///< launches are only recorded: whoever launches the graph counts the step

  const std::vector<LossClosure>& probed() const { return probe_parts.empty() ? parts : probe_parts; }
};

}  // namespace sadam::step
