// What is looked at in the first step that evaluates the loss more than once, which may wait: are the
// evaluations of a step those of one function, and does the loss see the weights that it is shown?
#include <c10/util/Exception.h>
#include <sadam/error.h>

#include <algorithm>
#include <cmath>

#include "step/attempt.h"
#include "step/engine.h"
#include "step/probe_scope.h"

namespace sadam::step {

/// By more than rounding: kernels may add up in another order the next time.
bool Engine::differ(const at::Tensor& a, const at::Tensor& b) const {
  const double x = a.item<double>();
  const double y = b.item<double>();
  if (!std::isfinite(x) || !std::isfinite(y)) return std::isfinite(x) != std::isfinite(y);
  const double spacing = std::max(rounding_of(a), rounding_of(b)) * std::max(std::abs(x), std::abs(y));
  return std::abs(x - y) > 128 * spacing;
}

void Engine::check_base(const Request& request, Attempt& attempt) {
  const auto again = evaluate_unmoved(request, attempt, /*is_shared=*/true);
  attempt.fork.join();
  is_one_function_ = !differ(again, numbers_->base());
  if (is_one_function_) return;
  lanes_.in_place = true;  // side by side they might also disturb each other
  TORCH_WARN(
      "sadam: evaluated twice at the same weights, the loss was ", numbers_->base().item<double>(),
      " and then ", again.item<double>(),
      ", so the evaluations of a step are not those of one function: let the closure use the same batch each "
      "time and draw from "
      "torch's default generator only, in the thread that calls step, and protect() the buffers of every "
      "module that it runs.");
}

/// Shows the loss the same moved weights once more, in place. Under fresh noise, where losses differ anyway,
/// only one that is exactly that of the weights themselves is suspicious; all are then made from one state.
void Engine::check_swap(const Request& request, const Attempt& attempt, const ProbeScope& scope,
                        std::int64_t slot, const std::function<void(const Target&)>& move) {
  if (!is_one_function_ || scope.is_in_place()) return;
  attempt.fork.catch_up(scope.lane());
  const auto slopes = numbers_->slopes().clone();  // moving along the step adds to one of them
  const auto evaluate = [&](bool in_place, const ForwardState& from) {
    const ProbeScope again(scope, in_place, &from);
    move(again.target());
    return again.evaluate(request.probed());
  };
  at::Tensor shown = numbers_->probed(slot).clone();
  at::Tensor in_place;
  if (scope.is_replayed()) {
    in_place = evaluate(true, attempt.before);
  } else {
    ForwardState here(attempt.before.buffers(), *backend_);
    here.draws.begin_base();
    shown = evaluate(false, here);
    here.draws.end_base();
    const auto unmoved = scope.evaluate_unmoved(request.probed(), here);
    in_place = shown.item<double>() == unmoved.item<double>() ? evaluate(true, here) : shown;
    here.draws.restore();
  }
  numbers_->slopes().copy_(slopes);
  if (!differ(shown, in_place)) return;
  lanes_.in_place = true;
  if (scope.is_replayed()) note(in_place, numbers_->probed(slot));
  TORCH_WARN(
      "sadam: the loss does not see the weights that probes show it, so from now on they are moved in place, "
      "one probe after the other: let it read the parameters themselves, not views of them that were kept, "
      "and write to nothing but registered buffers (GraphOptions().streams(0) says so beforehand).");
}

void Engine::refuse_constant(const Request& request, const Attempt& attempt, const at::Tensor& loss) {
  if (attempt.loss.defined() && loss.is_alias_of(attempt.loss))
    throw Error(request.caller +
                ": the closure returned the same tensor twice: compute the loss inside it, each time that it "
                "is called.");
}

}  // namespace sadam::step
