// Algorithm 1 of the paper, with what it leaves out: several groups, steps that are skipped, probes that
// leave everything as it was. AdamW and Prox-SGD are the same step without a plan to probe.
#include "step/engine.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <sadam/error.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "step/attempt.h"
#include "step/probe_scope.h"

namespace sadam::step {

void Engine::refuse_as_busy() {
  throw Error(
      "this optimizer is in the middle of a step: call it neither in a closure of its own nor from another "
      "thread.");
}

void Engine::refuse_if_busy() const {
  if (is_busy_) refuse_as_busy();
}

at::Tensor Engine::step(const Problem& problem, const Request& request) {
  if (request.parts.empty()) return apply(problem, request), at::Tensor();
  const Turn turn(*this);
  use(problem);
  check_request(problem, request);
  begun_state_.reset();
  probed_state_.reset();
  open_ = false;
  const c10::DeviceGuard guard(device_);
  if (!request.rehearsal && !request.recorded) compare_ranks(problem);
  Attempt attempt(problem, *backend_, lanes_for(request), device_);
  const auto failure = ranks_.failure_of([&] {
    evaluate_base(problem, request, attempt);  // f(w) and g = ∇f(w)
    check_gradients(problem);
  });
  const auto loss = ranks_.average_gradients(problem, request, attempt.loss, failure);
  start(problem, request, loss);
  passes().count_non_finite_gradients();
  evaluate_uphill(problem, request, attempt);  // SAM: g = ∇f(w + r·g/‖g‖)
  for (auto& round : rounds_of(problem, request, loss)) {
    run_probes(problem, request, attempt, round);  // f(w + δuᵢ)
    if (request.rehearsal) continue;               // all of it is put back
    if (round.opens && request.before_update && !knows_skip(round)) {
      const auto objection = ranks_.failure_of([&] {
        request.before_update();
        look_at_gradients_again(problem, request);
      });
      ranks_.agree(objection, device_);
    }
    finish(request, round);  // Dᵢ, ρ, e^{−λρ}; whether the step is skipped
    update(problem, round);  // m, v, w
  }
  if (attempt.has_base && !ranks_.is_idle(request)) is_checked(problem) = true;
  if (request.rehearsal) return attempt.loss;
  put_buffers_back_if_skipped(attempt.before);
  attempt.is_over = true;
  if (!ranks_.split_batch()) return attempt.loss;
  return loss.to(attempt.loss.defined() ? attempt.loss.scalar_type()
                                        : problem.parameters.front().scalar_type());
}

/// All rounds of a step. Groups take turns where the plan says so; the interval is counted here.
std::vector<kernels::Round> Engine::rounds_of(const Problem& problem, const Request& request,
                                              const at::Tensor& loss) const {
  const auto groups = problem.all_groups();
  kernels::Round round;
  round.end_group = groups.end;
  round.has_loss = loss.defined();
  if (!problem.plan) return {round};
  const auto& plan = *problem.plan;
  round.statistic = plan.statistic;
  round.along_step = plan.is_along_step();
  round.distance = plan.is_along_step() ? 1 : plan.radius;
  round.lgi_eps = plan.lgi_eps;
  round.cap = plan.cap;
  const bool may_probe = request.brakes.empty();
  round.has_base = may_probe && is_due(problem, groups);
  std::vector<kernels::Round> rounds;
  const auto turn = plan.group_by_group ? 1 : std::max<std::int64_t>(groups.end, 1);
  for (auto g = groups.first; g < groups.end; g += turn) {
    round.first_group = g;
    round.end_group = g + turn;
    round.opens = g == groups.first;
    round.closes = round.end_group == groups.end;
    round.probes = may_probe && is_due(problem, {g, round.end_group}) ? plan.evaluations() : 0;
    rounds.push_back(round);
    round.first_probe += plan.evaluations();
  }
  return rounds;
}

/// The losses at w + δuᵢ for i = 1 … k, of all ranks where there are several.
void Engine::run_probes(const Problem& problem, const Request& request, Attempt& attempt,
                        kernels::Round& round) {
  const bool is_due = round.has_base;
  const bool is_first = !attempt.has_base;
  const auto count = round.probes;
  const auto failure = ranks_.failure_of([&] { evaluate_probes(problem, request, attempt, round); });
  if (is_due) ranks_.share_probes(*numbers_, request, round.first_probe, count, is_first, failure);
}

/// In full precision. If the step is known to be skipped, nothing is probed.
void Engine::evaluate_probes(const Problem& problem, const Request& request, Attempt& attempt,
                             kernels::Round& round) {
  if (!round.has_base) {
    round.has_base = attempt.has_base;
    return;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto& plan = *problem.plan;
  auto& lanes = lanes_for(request);
  const auto* const replay = plan.is_shared() ? &attempt.before : nullptr;
  const GroupRange groups{round.first_group, round.end_group};
  const auto step = source_step(plan);
  round.has_base = false;
  if (!attempt.has_base && !knows_skip(round)) find_base(problem, request, attempt);
  round.has_base = attempt.has_base;
  round.rounding = attempt.base_rounding;
  if (!round.has_base || knows_skip(round)) round.probes = 0;
  const bool is_idle = ranks_.is_idle(request);
  if (is_idle && !plan.wants_slopes()) return;

  const bool side_by_side = lanes.lanes.front().stream.has_value();
  bool is_checked_now = is_checked(problem);
  for (std::int64_t i = 0; i < round.probes; ++i) {
    if (!ranks_.evaluates(i)) continue;
    auto& lane = lanes.take();
    attempt.fork.enter(lane);
    const c10::OptionalStreamGuard on_stream(lane.stream);
    const auto slot = round.first_probe + i;
    const auto u = plan.is_along_step() ? Direction() : passes().direction(plan, i, step, groups);
    const auto move = [&](const Target& target) {
      if (plan.is_along_step())
        passes().move_along_step(slot, groups, target);
      else
        passes().move(plan, u, target);
    };
    const ProbeScope scope(*backend_, lane, lanes.in_place, items_, groups, replay);
    move(scope.target());
    if (!is_idle) {
      const auto loss = scope.evaluate(request.probed());
      note(loss, numbers_->probed(slot));
      round.rounding = std::max(round.rounding, rounding_of(loss));
      refuse_constant(request, attempt, loss);
      if (!std::exchange(is_checked_now, true)) check_swap(request, attempt, scope, slot, move);
    }
    if (plan.wants_slopes() && !plan.is_along_step() && !side_by_side) passes().add_slope(plan, u, slot);
  }
  if (plan.wants_slopes() && !plan.is_along_step() && side_by_side)  // beside the probes
    for (std::int64_t i = 0; i < round.probes; ++i)
      if (ranks_.evaluates(i))
        passes().add_slope(plan, passes().direction(plan, i, step, groups), round.first_probe + i);
  attempt.fork.join();
  for (std::int64_t i = 0; i < round.probes; ++i)  // those of other ranks, whose sum is gathered
    if (!ranks_.evaluates(i)) numbers_->probed(round.first_probe + i).zero_();
  if (replay != nullptr) attempt.before.draws.after_probes();
  round.probe_seconds = backend_->seconds_since(began);
}

/// f(w) as the probes see it: that of the base evaluation, unless there is none, it was in reduced precision,
/// or probes look at another loss. Where groups take turns, all are compared with f(w) as it was before the
/// first update.
void Engine::find_base(const Problem& problem, const Request& request, Attempt& attempt) {
  attempt.has_base = true;
  if (ranks_.is_idle(request)) {
    numbers_->base().zero_();  // what an earlier step left there may not be finite
    attempt.base_rounding = rounding_of_weights();
    return;
  }
  attempt.precision.emplace(device_.is_cuda());
  auto& draws = attempt.before.draws;
  const bool is_shared = problem.plan->is_shared();
  draws.rest_here();
  if (!request.probe_parts.empty()) draws.forget_end();
  if (!attempt.is_watched) draws.begin_base();
  if (attempt.loss.defined() && !attempt.precision->was_reduced() && request.probe_parts.empty()) {
    note(attempt.loss, numbers_->base());
    attempt.base_rounding = rounding_of(attempt.loss);
  } else {
    attempt.base_rounding = rounding_of(evaluate_unmoved(request, attempt, is_shared, numbers_->base()));
  }
  if (!attempt.is_watched) draws.end_base(), draws.rest_at_start();
  if (is_shared && !is_checked(problem)) check_base(request, attempt);
}

/// f(w), as a probe that does not move; noted in the slot, if there is one.
at::Tensor Engine::evaluate_unmoved(const Request& request, Attempt& attempt, bool is_shared,
                                    const at::Tensor& slot) {
  auto& lanes = lanes_for(request);
  auto& lane = lanes.take();
  attempt.fork.enter(lane);
  const c10::OptionalStreamGuard on_stream(lane.stream);
  const ProbeScope scope(*backend_, lane, lanes.in_place, items_, {}, is_shared ? &attempt.before : nullptr);
  auto loss = scope.evaluate(request.probed());
  if (slot.defined()) note(loss, slot);
  return loss;
}

void Engine::update(const Problem& problem, const kernels::Round& round) {
  passes().update(problem.update, {round.first_group, round.end_group});
  at::autocast::clear_cache();  // it holds casts of the weights as they were
}

// ---- the split form: the same parts, with the caller's own between them -----------------------------------

void Engine::begin(const Problem& problem) {
  const Turn turn(*this);
  use(problem);
  probed_state_.reset();
  begun_state_ = std::make_unique<ForwardState>(problem.buffers, *backend_);
  begun_state_->draws.begin_base();
}

StepSummary Engine::probe(const Problem& problem, const Request& request, const at::Tensor& loss) {
  const Turn turn(*this);
  use(problem);
  check_before_probe(problem, request, loss);
  const c10::DeviceGuard guard(device_);
  ranks_.compare(problem, steps_begun());
  // Without begin() the caller's forward pass cannot be replayed, so its f(w) is of another function; with
  // autocasting in it, f(w) is not comparable with the probes.
  const bool replayable = begun_state_ != nullptr || !problem.plan->is_shared();
  Attempt attempt(problem, *backend_, lanes_, device_, std::move(begun_state_));
  attempt.before.draws.end_base(/*just_now=*/false);
  attempt.is_watched = replayable;
  if (replayable && !attempt.before.draws.saw_autocast()) attempt.loss = loss;
  start(problem, request, ranks_.average_loss(request, loss, device_));
  auto round = rounds_of(problem, request, loss).front();
  round.applies = round.closes = false;
  run_probes(problem, request, attempt, round);
  if (attempt.has_base) is_checked(problem) = true;
  if (!replayable && attempt.has_base) note(numbers_->base(), numbers_->loss());
  finish(request, round);
  open_ = true;
  attempt.is_over = true;
  probed_state_ = std::make_unique<ForwardState>(std::move(attempt.before));
  return summary();
}

void Engine::apply(const Problem& problem, const Request& request) {
  const Turn turn(*this);
  use(problem);
  check_before_update(problem, request);
  const c10::DeviceGuard guard(device_);
  ranks_.compare(problem, steps_begun(), /*with_gradients=*/true);
  start(problem, request, {});
  passes().count_non_finite_gradients();
  kernels::Round round;
  round.end_group = problem.all_groups().end;
  round.opens = !std::exchange(open_, false);
  round.has_loss = false;
  begun_state_.reset();
  probed_state_.reset();
  finish(request, round);
  update(problem, round);
}

void Engine::give_up(const Problem& problem) {
  auto before = begun_state_ ? std::move(begun_state_) : std::move(probed_state_);
  open_ = false;
  if (!before) return;
  const c10::DeviceGuard guard(device_);
  const Attempt failed(problem, *backend_, lanes_, device_, std::move(before));
}

void Engine::average_gradients(const Problem& problem) {
  const Turn turn(*this);
  use(problem);
  const c10::DeviceGuard guard(device_);
  ranks_.compare(problem, steps_begun());
  const auto failure = ranks_.failure_of([&] { check_gradients(problem); });
  ranks_.average_gradients(problem, {}, {}, failure);
}

}  // namespace sadam::step
