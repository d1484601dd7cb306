// One step of S-Adam, AdamW or Prox-SGD: the algorithm, told once.
#pragma once

#include <c10/core/Stream.h>
#include <sadam/step_summary.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "step/copies.h"
#include "step/forward_state.h"
#include "step/numbers.h"
#include "step/passes.h"
#include "step/problem.h"
#include "step/ranks.h"

namespace sadam::step {

struct Attempt;
class ProbeScope;

/// Takes steps. Between them it keeps what a step needs beside the parameters' states: the numbers, and one
/// copy of the parameters for the probes. On a GPU nothing here waits for the device, except where it says
/// so and in the first step that probes, which is checked (see one_function.cpp).
class Engine {
 public:
  /// A whole step. Returns f(w) of the base evaluation, undefined if there are no closures. Whatever is
  /// thrown, all is as before, but for the gradients, which are cleared; where groups take turns, the updates
  /// of those before the one that failed stand.
  at::Tensor step(const Problem& problem, const Request& request);

  // ---- the split form: the caller evaluates and differentiates ----
  /// Before the caller's forward pass: what `probe` replays.
  void begin(const Problem& problem);
  /// Probes around the weights; waits. `loss` is f(w) from the forward pass after `begin`, or undefined.
  /// Returns what the step has found so far.
  StepSummary probe(const Problem& problem, const Request& request, const at::Tensor& loss);
  /// An update from the gradients as they are, with the request's brakes.
  void apply(const Problem& problem, const Request& request);
  /// The caller's step has failed after `begin`: puts buffers and generators back, and clears the gradients.
  void give_up(const Problem& problem);
  /// Before these: the gradients as those of all ranks.
  void average_gradients(const Problem& problem);

  /// Before a step: see Ranks::compare.
  void compare_ranks(const Problem& problem) { ranks_.compare(problem, steps_begun()); }
  /// Who trains together.
  Ranks& ranks() { return ranks_; }

  // ---- what happened; these wait ----
  const StepSummary& summary();
  const Totals& totals();
  /// Summaries of the steps since the last call, oldest first; at most as many as the ring holds.
  std::vector<StepSummary> take_summaries();
  /// What each group keeps from step to step.
  std::vector<kernels::GroupMemory> memory();
  /// The items of the last step with their counts of updates.
  Items updated_items();
  /// Where the last step was taken.
  at::Device device() const { return device_; }
  /// Refuses what must not happen in a closure of a step, or beside one.
  void refuse_if_busy() const;
  /// Starts from these, as after a load.
  void restore(const Totals& totals, std::vector<kernels::GroupMemory> memory);

  // ---- for captured steps ----
  /// Turns to where the parameters are.
  void use(const Problem& problem);
  /// Makes the numbers fit the problem and the request. Cheap when nothing changed.
  void arrange(const Problem& problem, const Request& request);
  /// Changes whenever an array that a captured graph may point to was replaced.
  std::int64_t layout() const { return layout_; }
  const Items& items() const { return items_; }
  std::shared_ptr<const Numbers> numbers() const { return numbers_; }
  Backend& backend() { return *backend_; }
  /// Whether the coming step probes these groups.
  bool is_due(const Problem& problem, GroupRange groups) const;
  /// A graph was launched that has taken a step.
  void count_step();
  /// Whether probes move the weights in place: because the loss was found to want it, or is known to.
  bool wants_in_place() const { return lanes_.in_place; }
  void move_in_place() { lanes_.in_place = true; }

 private:
  /// One at a time.
  class Turn {
   public:
    explicit Turn(Engine& engine) : engine_(engine) {
      if (engine.is_busy_.exchange(true)) refuse_as_busy();
    }
    ~Turn() { engine_.is_busy_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Engine& engine_;
  };
  [[noreturn]] static void refuse_as_busy();

  // engine.cpp: the algorithm.
  std::vector<kernels::Round> rounds_of(const Problem& problem, const Request& request,
                                        const at::Tensor& loss) const;
  void run_probes(const Problem& problem, const Request& request, Attempt& attempt, kernels::Round& round);
  void evaluate_probes(const Problem& problem, const Request& request, Attempt& attempt,
                       kernels::Round& round);
  void find_base(const Problem& problem, const Request& request, Attempt& attempt);
  at::Tensor evaluate_unmoved(const Request& request, Attempt& attempt, bool is_shared,
                              const at::Tensor& slot = {});
  void update(const Problem& problem, const kernels::Round& round);

  // base_evaluation.cpp: f(w), and the gradient there or where the plan says.
  void evaluate_base(const Problem& problem, const Request& request, Attempt& attempt);
  void evaluate_uphill(const Problem& problem, const Request& request, Attempt& attempt);
  at::Tensor differentiate_uphill(const Problem& problem, const Request& request, Attempt& attempt);
  at::Tensor differentiate(const Problem& problem, const Request& request, Attempt& attempt,
                           const std::function<void()>& after_last_forward);
  void put_buffers_back_if_skipped(const ForwardState& before) const;
  void look_at_gradients_again(const Problem& problem, const Request& request);
  static void check_request(const Problem& problem, const Request& request);
  static void check_gradients(const Problem& problem);
  static void check_before_probe(const Problem& problem, const Request& request, const at::Tensor& loss);
  static void check_before_update(const Problem& problem, const Request& request);

  // one_function.cpp: what is looked at in the first step that probes.
  void check_base(const Request& request, Attempt& attempt);
  void check_swap(const Request& request, const Attempt& attempt, const ProbeScope& scope, std::int64_t slot,
                  const std::function<void(const Target&)>& move);
  static void refuse_constant(const Request& request, const Attempt& attempt, const at::Tensor& loss);
  bool differ(const at::Tensor& a, const at::Tensor& b) const;

  // arrangement.cpp: the numbers, and how the host learns of them.
  void start(const Problem& problem, const Request& request, const at::Tensor& loss);
  void finish(const Request& request, const kernels::Round& round);
  bool knows_skip(const kernels::Round& round) const;
  double rounding_of(const at::Tensor& loss) const;
  double rounding_of_weights() const;
  std::int64_t steps_begun() const { return totals_.steps + totals_.skipped + begun_ - refreshed_; }
  std::int64_t source_step(const ProbePlan& plan);
  void refresh();
  void wait_for_steps() const;

  bool& is_checked(const Problem& problem) {
    return checked_[!problem.plan || problem.plan->is_shared() ? 1 : 0];
  }
  Lanes& lanes_for(const Request& request) { return request.lanes != nullptr ? *request.lanes : lanes_; }
  Passes passes() const { return {*backend_, *numbers_, items_}; }
  static void note(const at::Tensor& loss, const at::Tensor& slot);

  std::atomic<bool> is_busy_ = false;
  Ranks ranks_;
  at::Device device_ = at::kCPU;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Numbers> numbers_;
  Items items_;
  Lanes lanes_{std::vector<Lane>(1), false, 0};
  std::unique_ptr<ForwardState> begun_state_;   // recorded by begin()
  std::unique_ptr<ForwardState> probed_state_;  // the same, after probe() and until the update
  std::optional<c10::Stream> stream_;           // of the last step
  std::int64_t layout_ = 0;
  std::int64_t begun_ = 0;         // steps begun since the numbers were made
  std::int64_t refreshed_ = 0;     // of them, those that `summary_` and `totals_` know
  std::int64_t taken_ = 0;         // of them, those whose summaries were taken
  bool open_ = false;              // probe() has begun a record that apply() will finish
  std::array<bool, 2> checked_{};  // the first step that probes is over, under fresh and shared noise
  bool is_one_function_ = true;
  std::vector<kernels::GroupMemory> memory_;  // until there are numbers
  std::vector<StepSummary> untaken_;          // of steps before the numbers were made
  StepSummary summary_;
  Totals totals_;
};

}  // namespace sadam::step
