// f(w), and its gradient there or nearby, and what is refused of them.
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <sadam/error.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "step/attempt.h"
#include "step/engine.h"
#include "step/option_names.h"
#include "step/probe_scope.h"

namespace sadam::step {
namespace {

bool has_gradients(const std::vector<at::Tensor>& parameters) {
  for (const auto& parameter : parameters)
    if (parameter.grad().defined()) return true;
  return false;
}

// Another one after a closure means that it called backward itself.
std::vector<std::pair<const void*, std::uint32_t>> versions_of_gradients(
    const std::vector<at::Tensor>& parameters) {
  std::vector<std::pair<const void*, std::uint32_t>> versions;
  for (const auto& parameter : parameters)
    if (parameter.grad().defined())
      versions.emplace_back(parameter.grad().unsafeGetTensorImpl(),
                            parameter.grad().unsafeGetTensorImpl()->version_counter().current_version());
  return versions;
}

void check_base_loss(const at::Tensor& loss, at::Device device, const std::string& caller) {
  check_loss(loss, caller);
  if (!loss.requires_grad())
    throw Error(caller +
                ": the loss does not need gradients: compute it from parameters that require them, outside "
                "any no-grad guard.");
  if (!device.is_cpu() && loss.device().is_cpu())
    throw Error(caller + ": the loss is on the CPU and the parameters are on a GPU: compute it there.");
}

}  // namespace

/// f(w) and its gradient; where the plan says so, at w + r·u instead, and nothing at w. Probes beside it may
/// start from where it starts, unless they need what it leaves.
void Engine::evaluate_base(const Problem& problem, const Request& request, Attempt& attempt) {
  attempt.clear_gradients();
  if (problem.items.empty())
    throw Error(request.caller +
                ": no parameter of the optimizer requires a gradient: call requires_grad_() on those to be "
                "trained.");
  if (ranks_.is_idle(request)) return;
  attempt.fork.mark();
  auto& draws = attempt.before.draws;
  const bool is_probed = request.brakes.empty() && is_due(problem, problem.all_groups());
  draws.begin_base(is_probed || problem.gradient.is_uphill());
  const auto evaluate = [&] {
    attempt.loss = differentiate(problem, request, attempt, [&] { draws.end_base(); });
  };
  if (problem.gradient.is_nearby()) {
    if (!numbers_ || numbers_->device() != device_) arrange(problem, request);  // directions count steps
    const Passes passes(*backend_, *numbers_, problem.items);
    const auto groups = problem.all_groups();
    const auto plan = problem.gradient.probe();
    const ProbeScope scope(*backend_, lanes_for(request).take(), /*in_place=*/true, problem.items, groups,
                           /*replay=*/nullptr);
    passes.move(plan, passes.direction(plan, 0, 0, groups), scope.target());
    scope.show(evaluate);
  } else {
    evaluate();
  }
  if (problem.plan && problem.plan->is_along_step()) attempt.fork.mark();
  if (!has_gradients(problem.parameters))
    throw Error(request.caller +
                ": no parameter of the optimizer received a gradient: compute the loss from the model that "
                "it trains.");
}

/// Replaces the gradient by that of the same function uphill of w, if the plan says so. Weights are moved
/// where they are, so that whatever the loss reads them through sees it.
void Engine::evaluate_uphill(const Problem& problem, const Request& request, Attempt& attempt) {
  if (!problem.gradient.is_uphill()) return;
  if (backend_->knows_skip(numbers_->state(), /*has_loss=*/true, /*has_base=*/false)) return;
  at::Tensor uphill;
  const auto failure = ranks_.failure_of([&] { uphill = differentiate_uphill(problem, request, attempt); });
  note(ranks_.average_gradients(problem, request, uphill, failure), numbers_->base());
  attempt.has_base = true;
  look_at_gradients_again(problem, request);
}

/// Leaves this rank's gradient there, and returns its loss.
at::Tensor Engine::differentiate_uphill(const Problem& problem, const Request& request, Attempt& attempt) {
  if (ranks_.is_idle(request)) return attempt.clear_gradients(), at::Tensor();
  const auto& draws = attempt.before.draws;
  attempt.before.draws.rest_here();
  note(attempt.loss, numbers_->base());
  if (!is_checked(problem)) {  // in full precision, as for probes
    const FullPrecision precision(device_.is_cuda());
    if (precision.was_reduced()) evaluate_unmoved(request, attempt, /*is_shared=*/true, numbers_->base());
    check_base(request, attempt);
  }
  at::Tensor loss;
  {
    const ProbeScope scope(*backend_, lanes_for(request).take(), /*in_place=*/true, items_,
                           problem.all_groups(), &attempt.before);
    passes().ascend(problem.gradient, scope.target());
    attempt.clear_gradients();
    scope.show([&] { loss = differentiate(problem, request, attempt, [&] { draws.check_replay(); }); });
  }
  draws.after_probes();
  return loss;
}

/// Evaluates the parts with gradients and differentiates each. Returns their sum.
at::Tensor Engine::differentiate(const Problem& problem, const Request& request, Attempt& attempt,
                                 const std::function<void()>& after_last_forward) {
  const auto& caller = request.caller;
  at::Tensor sum;
  for (const auto& part : request.parts) {
    const bool is_last = &part == &request.parts.back();
    // Torch's cache of weights that were cast does not notice that the last step changed them.
    at::autocast::clear_cache();
    const at::AutoGradMode with_gradients(true);
    const auto gradients = versions_of_gradients(problem.parameters);
    const auto loss = part();
    check_base_loss(loss, device_, caller);
    refuse_constant(request, attempt, loss);
    if (versions_of_gradients(problem.parameters) != gradients)
      throw Error(caller +
                  ": the closure called backward itself: let it return the loss and do nothing else, the "
                  "optimizer clears gradients and calls backward.");
    if (is_last) after_last_forward();
    if (is_last) ranks_.watch_gradients(problem, request);
    // Fresh noise updates the buffers in each evaluation, one after the other.
    if (problem.plan && !problem.plan->is_shared() && !problem.buffers.empty()) attempt.fork.mark();
    backend_->backward(loss, problem.items);
    const at::NoGradGuard no_grad;
    sum = sum.defined() ? sum + loss.detach() : loss.detach();
  }
  return sum;
}

void Engine::check_request(const Problem& problem, const Request& request) {
  if (!request.brakes.empty() && !problem.plan)
    throw Error(request.caller + ": only SAdam takes a brake: leave it out, or use SAdam with damping(0).");
  if (request.probe_parts.empty()) return;
  if (!problem.plan) throw Error(request.caller + ": only SAdam probes: leave probe_parts out.");
  if (problem.plan->wants_slopes())
    throw Error(
        request.caller + ": the statistic '" + name_of(problem.plan->statistic) +
        "' compares the probes with the gradient, which is of the whole loss: leave probe_parts out, or "
        "take another statistic, such as 'variance'.");
}

void Engine::check_gradients(const Problem& problem) {
  for (const auto& item : problem.items) {
    const auto& gradient = item.gradient();
    if (!gradient.defined()) continue;
    if (gradient.layout() != at::kStrided)
      throw Error("the gradient of " + problem.name_of(item) +
                  " is sparse: sadam works on dense gradients (switch off those of an embedding).");
    if (gradient.scalar_type() != item.parameter.scalar_type() ||
        gradient.sizes() != item.parameter.sizes() || gradient.device() != item.parameter.device())
      throw Error("the gradient of " + problem.name_of(item) +
                  " has another type, shape or device than the parameter: clear the gradients after "
                  "changing a model.");
  }
}

/// Whoever clips them may also replace them, make some or let go of others. What was not finite before still
/// counts, as on the CPU, where nobody is asked then.
void Engine::look_at_gradients_again(const Problem& problem, const Request& request) {
  check_gradients(problem);
  arrange(problem, request);
  passes().count_non_finite_gradients();
}

/// The split form: what the caller has evaluated and differentiated before it probes, and before it updates.
void Engine::check_before_probe(const Problem& problem, const Request& request, const at::Tensor& loss) {
  const auto& caller = request.caller;
  check_gradients(problem);
  if (problem.plan->group_by_group && problem.rules.size() > 1)
    throw Error(caller +
                ": with group_by_group (as in reference()) and several groups, probes and updates take "
                "turns: use step(closure), or switch group_by_group off.");
  if (loss.defined()) check_loss(loss, request.caller);
  if (problem.plan->wants_slopes() && !has_gradients(problem.parameters))
    throw Error(caller + ": the statistic '" + name_of(problem.plan->statistic) +
                "' compares with the gradient and there is none: call backward before probe.");
}

/// AdamW and Prox-SGD are silent, as torch's optimizers are.
void Engine::check_before_update(const Problem& problem, const Request& request) {
  check_gradients(problem);
  if (problem.gradient.gradient_at != GradientAt::weights)
    throw Error(request.caller + ": with gradient_at '" + name_of(problem.gradient.gradient_at) +
                "' the optimizer evaluates the loss itself: pass a closure that returns it.");
  if (problem.plan && !problem.items.empty() && !has_gradients(problem.parameters))
    throw Error(request.caller + ": no parameter has a gradient: call backward before step().");
}

void Engine::put_buffers_back_if_skipped(const ForwardState& before) const {
  before.restore_buffers(*backend_, numbers_->skip());
  if (before.has_replaced_buffers() && numbers_->is_skipped()) before.restore_replaced_buffers();
}

}  // namespace sadam::step
