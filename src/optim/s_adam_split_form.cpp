// The parts of a step, called by the user.
#include <sadam/s_adam.h>

#include <algorithm>

#include "../probe/forward_state.h"
#include "../probe/loss.h"
#include "../probe/snapshot.h"
#include "checks.h"
#include "device_work.h"

namespace sadam {

void SAdam::begin() {
  prepare();
  begun_ = std::make_unique<probe::ForwardState>(buffers_, device());
}

Brakes SAdam::probe(const LossClosure& loss_fn, const torch::Tensor& loss) {
  if (!loss_fn) throw Error("SAdam::probe: there is no loss function: pass one that returns the loss.");
  prepare();
  if (device_work_) {
    fetch_from_device();
    last_lgi_ = latest_lgi();
  }
  check_gradients();
  if (wide().group_by_group() && param_groups().size() > 1)
    throw Error(
        "SAdam::probe: with group_by_group (as in reference()) and several groups, probes and updates take "
        "turns: use "
        "step(closure), or switch it off with .group_by_group(false).");
  if (loss.defined()) probe::check_loss(loss, "SAdam::probe");
  if (wide().statistic() == Statistic::residual && !has_gradients())
    throw Error(
        "SAdam::probe: the statistic 'residual' compares with the gradient and there is none: call backward "
        "before probe.");
  // Without begin() the caller's forward pass cannot be replayed, so its f(w) is of another function.
  const bool replayable = begun_ || wide().noise() == ProbeNoise::fresh;
  const auto base = replayable ? loss : torch::Tensor();
  const auto begun = begun_ ? std::move(begun_) : std::make_unique<probe::ForwardState>(buffers_, device());

  start_summary();
  summary_.group_lgi = last_lgi_;
  if (loss.defined()) note_loss(probe::read_loss(loss).value);
  if (probe_is_due(all_groups()) && summary_.non_finite_loss == 0)
    run_probes(all_groups(), {loss_fn, base, *begun});
  set_brakes(all_groups());
  summary_is_open_ = true;
  return {summary_.lgi, summary_.group_brakes};
}

bool SAdam::has_gradients() const {
  for (const auto& group : param_groups())
    if (std::any_of(group.params().begin(), group.params().end(), is_trained)) return true;
  return false;
}

void SAdam::step(const Brakes& brakes) {
  prepare();
  if (device_work_ && !summary_is_open_) fetch_from_device();
  check_gradients();
  if (brakes.per_group.size() != param_groups().size())
    throw Error("SAdam::step: there are " + std::to_string(brakes.per_group.size()) + " brakes for " +
                std::to_string(param_groups().size()) + " groups: pass what probe() returned.");
  for (double brake : brakes.per_group) optim::require_at_least_zero(brake, "SAdam::step: ", "brake");
  if (!summary_is_open_) {
    if (device_work_) last_lgi_ = latest_lgi();
    start_summary();
    summary_.group_lgi = last_lgi_;
    summary_.lgi = brakes.lgi;
  }
  summary_is_open_ = false;
  begun_.reset();
  if (is_on_device()) {
    summary_.group_brakes = brakes.per_group;
    if (!brakes.per_group.empty()) summary_.brake = brakes.per_group.back();
    return device_work().step_with(*this, brakes.per_group);
  }
  if (skips_step()) return;
  summary_.group_brakes = brakes.per_group;
  if (!brakes.per_group.empty()) summary_.brake = brakes.per_group.back();
  update(all_groups());
  ++totals_.steps;
}

void SAdam::step(double brake) {
  const auto lgi = latest_lgi();
  step(Brakes{lgi.empty() ? 0 : lgi.back(), std::vector<double>(param_groups().size(), brake)});
}

}  // namespace sadam
