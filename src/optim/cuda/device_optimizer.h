// Steps of SAdam, AdamW and ProxSGD on a GPU, without waiting for it.
#pragma once

#include <c10/cuda/CUDAStream.h>
#include <sadam/adamw.h>
#include <sadam/prox_sgd.h>
#include <sadam/s_adam.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../../probe/precision.h"
#include "../device_work.h"
#include "launches.h"

namespace sadam::optim::cuda {

/// What a step of one optimizer consists of.
struct StepKind {
  const SAdam* s_adam = nullptr;  ///< null: no probes
  bool prox_sgd = false;
};
StepKind kind_of(const Optimizer& optimizer);

GroupRange all_groups(const Optimizer& optimizer);
/// The rounds of probes and updates that a step has.
std::vector<GroupRange> rounds_of(const Optimizer& optimizer, const StepKind& kind);

/// The options of the groups as the device wants them. `brakes`, if not empty, replace those that would
/// follow from ρ.
std::vector<kernels::cuda::GroupRule> rules_of(const Optimizer& optimizer, const std::vector<double>& brakes);

/// k, or 1 along Adam's own step.
std::int64_t probes_of(const SAdamOptions& whole);
bool is_along_step(const SAdamOptions& whole);
DirectionRule directions_of(const SAdamOptions& whole, std::int64_t step);

/// How finish_probes judges a round.
kernels::cuda::FinishProbes judgement_of(const SAdamOptions& whole);

class DeviceOptimizer : public DeviceWork {
 public:
  at::Tensor step(Optimizer& optimizer, const probe::LossClosure& closure, const char* caller,
                  const std::vector<double>& brakes) override;
  probe::ProbeOutcome probe(SAdam& optimizer, const probe::LossClosure& closure, const at::Tensor& base,
                            const probe::ForwardState& before) override;
  void step_with(SAdam& optimizer, const std::vector<double>& brakes) override;
  void refresh(StepSummary& summary, Totals& totals) override;
  void refresh_states(const StateMap& states) override;
  std::vector<StepSummary> take_summaries() override;
  std::vector<double> last_lgi() override;

  // ---- for a captured step, which enqueues the parts itself ----

  /// Makes the arrays fit the optimizer's parameters, options and gradients. Cheap when nothing changed.
  void arrange(Optimizer& optimizer, const std::vector<double>& brakes = {});
  DeviceNumbers& numbers() { return *numbers_; }
  Launches launches() const { return {*numbers_, items_}; }
  const Items& items() const { return items_; }
  /// Whether the coming step probes these groups.
  bool probe_is_due(const SAdam& optimizer, GroupRange groups) const;
  /// Changes whenever an array that a captured graph may point to was replaced.
  std::int64_t layout() const { return layout_; }
  /// A step was enqueued.
  void count_step();
  void start() const;
  void finish(kernels::cuda::FinishProbes launch) const;
  /// Copies the weights of some groups aside and says where: `from` of a ProbeTarget.
  std::vector<at::Tensor> take_snapshot(GroupRange groups);
  void restore_snapshot(GroupRange groups) const;
  void update(const StepKind& kind, GroupRange groups) const;
  /// The spacing, near 1, of the coarsest type on the way to this loss.
  double rounding_of(const at::Tensor& loss) const;

 private:
  class InPlace;
  /// Steps taken or skipped, those under way counted.
  std::int64_t steps_before(const Optimizer& optimizer) const;
  std::int64_t source_step(SAdam& optimizer);
  void forget_lost_states(const StateMap& states);
  void wait_for_steps() const;
  enum class Evaluations { base, probes, both };
  struct Round {
    GroupRange groups;  // that move
    std::int64_t first_slot;
    Evaluations evaluations;
  };
  /// Evaluates the probes of a round where the weights are; returns how many.
  std::int64_t probe_in_place(SAdam& optimizer, const Round& round, const probe::LossClosure& closure,
                              const at::Tensor& loss, const probe::ForwardState& before);
  std::unique_ptr<DeviceNumbers> numbers_;
  Items items_;
  std::vector<AdamWParamState*> states_;  // of each item; null for ProxSGD and where there is no gradient
  std::vector<at::Tensor> snapshot_;      // w₀ of each item
  std::optional<c10::cuda::CUDAStream> stream_;  // of the last step
  std::int64_t layout_ = 0;
  double probe_rounding_ = 0;        // of the last probe's loss
  std::int64_t begun_ = 0;           // steps enqueued
  std::int64_t refreshed_ = 0;       // of them, those that the host's summary knows
  std::int64_t taken_ = 0;           // of them, those whose summaries were taken
  std::int64_t judged_on_host_ = 0;  // probes that were not finite in the split form
};

}  // namespace sadam::optim::cuda
