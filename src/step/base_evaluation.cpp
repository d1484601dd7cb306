// f(w) and its gradient, and what is refused of them.
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

/// Evaluates the parts with gradients and differentiates each. Probes beside it may start from where it
/// starts, unless they need what it leaves.
void Engine::evaluate_base(const Problem& problem, const Request& request, Attempt& attempt) const {
  const auto& caller = request.caller;
  attempt.clear_gradients();
  attempt.fork.mark();
  attempt.before.draws.begin_base(request.brakes.empty() && is_due(problem, problem.all_groups()));
  for (const auto& part : request.parts) {
    const bool is_last = &part == &request.parts.back();
    // Torch's cache of weights that were cast does not notice that the last step changed them.
    at::autocast::clear_cache();
    const at::AutoGradMode with_gradients(true);
    const auto gradients = versions_of_gradients(problem.parameters);
    const auto loss = part();
    check_base_loss(loss, device_, caller);
    if (versions_of_gradients(problem.parameters) != gradients)
      throw Error(caller +
                  ": the closure called backward itself: let it return the loss and do nothing else, the "
                  "optimizer clears gradients and calls backward.");
    if (is_last) attempt.before.draws.end_base();
    // Fresh noise updates the buffers in each evaluation, one after the other.
    if (problem.plan && !problem.plan->is_shared() && !problem.buffers.empty()) attempt.fork.mark();
    backend_->backward(loss, problem.items);
    const at::NoGradGuard no_grad;
    attempt.loss = attempt.loss.defined() ? attempt.loss + loss.detach() : loss.detach();
  }
  if (problem.plan && problem.plan->is_along_step()) attempt.fork.mark();
  if (!problem.items.empty() && !has_gradients(problem.parameters))
    throw Error(caller +
                ": no parameter of the optimizer received a gradient: compute the loss from the model that "
                "it trains.");
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
  if (problem.plan && !problem.items.empty() && !has_gradients(problem.parameters))
    throw Error(request.caller + ": no parameter has a gradient: call backward before step().");
}

void Engine::put_buffers_back_if_skipped(const ForwardState& before) const {
  before.restore_buffers(*backend_, numbers_->skip());
  if (before.has_replaced_buffers() && numbers_->is_skipped()) before.restore_replaced_buffers();
}

}  // namespace sadam::step
