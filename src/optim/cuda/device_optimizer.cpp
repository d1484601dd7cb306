#include "device_optimizer.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../probe/loss.h"
#include "../../probe/parameters.h"
#include "../access.h"
#include "../state.h"

namespace sadam::optim {

bool built_with_cuda() { return true; }

std::unique_ptr<DeviceWork> make_device_work() { return std::make_unique<cuda::DeviceOptimizer>(); }

namespace cuda {

// ---- the parts of a step ----------------------------------------------------------------------------------

void DeviceOptimizer::start() const {
  kernels::cuda::start_step(
      {numbers_->state(), at::cuda::getCurrentCUDAStream(numbers_->device().index()).stream()});
}

void DeviceOptimizer::finish(kernels::cuda::FinishProbes launch) const {
  launch.state = numbers_->state();
  launch.stream = at::cuda::getCurrentCUDAStream(numbers_->device().index()).stream();
  kernels::cuda::finish_probes(launch);
}

void DeviceOptimizer::update(const StepKind& kind, GroupRange groups) const {
  if (kind.prox_sgd)
    launches().update_prox_sgd();
  else
    launches().update_adam(groups);
  at::autocast::clear_cache();  // it holds casts of the weights as they were
}

// Computed from weights, a loss is no finer than they are.
double DeviceOptimizer::rounding_of(const at::Tensor& loss) const {
  double rounding = probe::rounding_of(loss.scalar_type());
  for (const auto& item : items_)
    rounding = std::max(rounding, probe::rounding_of(item.parameter.scalar_type()));
  return rounding;
}

std::int64_t DeviceOptimizer::steps_before(const Optimizer& optimizer) const {
  const auto& known = Access::totals(const_cast<Optimizer&>(optimizer));
  return known.steps + known.skipped + begun_ - refreshed_;
}

bool DeviceOptimizer::probe_is_due(const SAdam& optimizer, GroupRange groups) const {
  const auto& whole = Access::wide(optimizer);
  if (steps_before(optimizer) % whole.interval() != 0) return false;
  if (whole.monitor()) return true;
  for (auto g = groups.first; g < groups.end; ++g)
    if (static_cast<const SAdamOptions&>(optimizer.param_groups()[static_cast<std::size_t>(g)].options())
            .damping() != 0)
      return true;
  return false;
}

// ---- the eager step ---------------------------------------------------------------------------------------

at::Tensor DeviceOptimizer::step(Optimizer& optimizer, const probe::LossClosure& closure, const char* caller,
                                 const std::vector<double>& brakes) {
  const c10::cuda::CUDAGuard guard(Access::device(optimizer));
  BeforeStep before(optimizer.param_groups(), Access::buffers(optimizer), Access::device(optimizer));
  at::Tensor loss;
  if (closure)
    loss = Access::evaluate(optimizer, closure, before, caller);
  else
    Access::check_gradients(optimizer);
  if (loss.defined() && !loss.is_cuda()) {
    before.restore();
    throw Error(std::string(caller) +
                ": the loss is on the CPU and the parameters are on a GPU: compute it there.");
  }

  const auto kind = kind_of(optimizer);
  arrange(optimizer, brakes);
  start();
  if (loss.defined()) {
    const at::NoGradGuard no_grad;
    numbers_->loss().copy_(loss.reshape({}));
  }
  launches().count_non_finite_gradients();

  const auto rounds = rounds_of(optimizer, kind);
  const bool probes = kind.s_adam != nullptr && closure && brakes.empty();
  const auto is_due = [&](GroupRange groups) { return probes && probe_is_due(*kind.s_adam, groups); };
  // Where groups take turns, all are compared with f(w) as it was before the first update.
  const bool has_base = rounds.size() > 1 && std::any_of(rounds.begin(), rounds.end(), is_due);
  if (has_base) {
    try {
      probe_in_place(static_cast<SAdam&>(optimizer), {{0, 0}, 0, Evaluations::base}, closure, loss,
                     before.forward());
    } catch (const Error&) {
      before.restore();
      throw;
    }
  }
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    kernels::cuda::FinishProbes finish_round;
    if (kind.s_adam != nullptr) finish_round = judgement_of(Access::wide(*kind.s_adam));
    finish_round.first_group = rounds[r].first;
    finish_round.end_group = rounds[r].end;
    finish_round.first_round = r == 0;
    finish_round.last_round = r + 1 == rounds.size();
    finish_round.has_loss = loss.defined();
    finish_round.rounding = loss.defined() ? rounding_of(loss) : 0;
    finish_round.has_base = has_base;
    if (is_due(rounds[r])) {
      const auto each = probes_of(Access::wide(*kind.s_adam));
      finish_round.first_probe = static_cast<std::int64_t>(r) * each;
      try {
        const Round round{rounds[r], finish_round.first_probe,
                          has_base ? Evaluations::probes : Evaluations::both};
        finish_round.probes =
            probe_in_place(static_cast<SAdam&>(optimizer), round, closure, loss, before.forward());
      } catch (const Error&) {
        if (r == 0) before.restore();  // else an earlier group has been updated already
        throw;
      }
    }
    if (finish_round.probes > 0) finish_round.rounding = std::max(finish_round.rounding, probe_rounding_);
    finish(finish_round);
    if (finish_round.last_round) count_step();  // as the device just has
    update(kind, rounds[r]);
  }
  if (closure) {
    const auto& forward = before.forward();
    copy_tensors(forward.alike(), numbers_->skip());
    if (forward.has_unlike() && numbers_->is_skipped()) forward.restore_unlike();
  }
  return loss;
}

// While it lives the weights are elsewhere; then they, and under shared noise generators and buffers, are as
// the base evaluation left them.
class DeviceOptimizer::InPlace {
 public:
  InPlace(DeviceOptimizer& owner, GroupRange groups, const std::vector<at::Tensor>* buffers,
          at::Device device)
      : owner_(owner), groups_(groups) {
    if (buffers != nullptr) after_.emplace(*buffers, device);
    owner.take_snapshot(groups);
  }
  ~InPlace() {
    try {
      owner_.restore_snapshot(groups_);
      at::autocast::clear_cache();
      if (after_) after_->restore();
    } catch (const std::exception& error) {
      TORCH_WARN("sadam: the weights could not be put back after probing: ", error.what());
    }
  }
  InPlace(const InPlace&) = delete;
  InPlace& operator=(const InPlace&) = delete;

 private:
  DeviceOptimizer& owner_;
  GroupRange groups_;
  std::optional<probe::ForwardState> after_;
};

void DeviceOptimizer::restore_snapshot(GroupRange groups) const {
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (groups.has(items_[i])) pairs.emplace_back(items_[i].parameter.variable_data(), snapshot_[i]);
  copy_tensors(pairs);
}

std::vector<at::Tensor> DeviceOptimizer::take_snapshot(GroupRange groups) {
  snapshot_.resize(items_.size());
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!groups.has(items_[i])) continue;
    const auto weights = items_[i].parameter.variable_data();
    auto& copy = snapshot_[i];
    if (!copy.defined() || copy.scalar_type() != weights.scalar_type() || copy.sizes() != weights.sizes() ||
        copy.strides() != weights.strides() || copy.device() != weights.device())  // in the moments' order
      copy = at::empty_like(
          weights, probe::is_block(weights) ? at::MemoryFormat::Preserve : at::MemoryFormat::Contiguous);
    pairs.emplace_back(copy, weights);
  }
  copy_tensors(pairs);
  return snapshot_;
}

// What a caller's source is told: only that needs to know, so only that waits.
std::int64_t DeviceOptimizer::source_step(SAdam& optimizer) {
  if (!Access::wide(optimizer).source()) return 0;
  refresh(Access::summary(optimizer), Access::totals(optimizer));
  return Access::totals(optimizer).steps;
}

std::int64_t DeviceOptimizer::probe_in_place(SAdam& optimizer, const Round& round,
                                             const probe::LossClosure& closure, const at::Tensor& loss,
                                             const probe::ForwardState& before) {
  const auto& groups = round.groups;
  const auto& whole = Access::wide(optimizer);
  const bool shared = whole.noise() == ProbeNoise::shared;
  const auto rule = directions_of(whole, source_step(optimizer));
  const auto launch = launches();
  const InPlace scope(*this, groups, shared ? &Access::buffers(optimizer) : nullptr, numbers_->device());
  const probe::FullPrecision precision(/*cuda=*/true);
  const auto evaluate = [&](const at::Tensor& into) {
    if (shared) {
      before.restore_generators();
      before.restore_unlike();  // a closure may replace them
      copy_tensors(before.alike());
    }
    at::autocast::clear_cache();
    const at::NoGradGuard no_grad;
    const auto value = closure();
    probe::check_loss(value, "probe");
    probe_rounding_ = rounding_of(value);
    into.copy_(value.reshape({}));
  };
  if (round.evaluations == Evaluations::probes) {
    // the base is known
  } else if (loss.defined() && !precision.was_reduced()) {
    const at::NoGradGuard no_grad;
    numbers_->base().copy_(loss.reshape({}));
  } else {
    evaluate(numbers_->base());
  }
  if (round.evaluations == Evaluations::base) return 0;

  ProbeTarget target;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    target.to.push_back({items_[i].parameter});
    target.from.push_back(groups.has(items_[i]) ? snapshot_[i] : at::Tensor());
  }
  const auto probes = probes_of(whole);
  for (std::int64_t i = 0; i < probes; ++i) {
    const auto slot = round.first_slot + i;
    if (is_along_step(whole)) {
      launch.move_along_step(slot, groups, target);
    } else {
      launch.move(rule, i, slot, groups, target);
      if (numbers_->shape().slopes) launch.add_slope(rule, i, slot, groups);
    }
    evaluate(numbers_->probed(slot));
  }
  return probes;
}

// ---- the split form ---------------------------------------------------------------------------------------

probe::ProbeOutcome DeviceOptimizer::probe(SAdam& optimizer, const probe::LossClosure& closure,
                                           const at::Tensor& base, const probe::ForwardState& before) {
  const c10::cuda::CUDAGuard guard(Access::device(optimizer));
  arrange(optimizer);
  start();
  const auto groups = all_groups(optimizer);
  const auto& whole = Access::wide(optimizer);
  const auto probes = probe_in_place(optimizer, {groups, 0, Evaluations::both}, closure, base, before);
  const auto values = numbers_->losses();
  const double rounding = std::max(base.defined() ? rounding_of(base) : 0, probe_rounding_);
  const probe::Loss at_base{values[1], rounding};
  if (!std::isfinite(at_base.value)) {
    probe::ProbeOutcome nothing;
    nothing.base = at_base.value;
    return nothing;
  }
  std::vector<probe::Loss> probed;
  for (std::int64_t i = 0; i < probes; ++i)
    probed.push_back({values[static_cast<std::size_t>(2 + i)], rounding});
  probe::Judgement how;
  how.along_step = is_along_step(whole);
  how.distance = how.along_step ? 1 : whole.radius();
  how.statistic = whole.statistic();
  how.lgi_eps = whole.lgi_eps();
  how.cap = whole.cap();
  auto outcome = probe::judge(how, at_base, probed,
                              numbers_->shape().slopes ? numbers_->slopes() : std::vector<double>());
  judged_on_host_ += outcome.non_finite;
  if (outcome.non_finite == 0) numbers_->set_last_lgi(outcome.lgi);
  return outcome;
}

void DeviceOptimizer::step_with(SAdam& optimizer, const std::vector<double>& brakes) {
  const c10::cuda::CUDAGuard guard(Access::device(optimizer));
  arrange(optimizer, brakes);
  start();
  launches().count_non_finite_gradients();
  kernels::cuda::FinishProbes launch;
  launch.end_group = static_cast<std::int64_t>(optimizer.param_groups().size());
  launch.has_loss = Access::summary(optimizer).non_finite_loss > 0;  // which the host knows of
  if (launch.has_loss) numbers_->loss().fill_(std::numeric_limits<double>::quiet_NaN());
  finish(launch);
  count_step();
  update(kind_of(optimizer), all_groups(optimizer));
  // What the probes said stands; the device adds whether the step was taken.
  auto summary = Access::summary(optimizer);
  refresh(Access::summary(optimizer), Access::totals(optimizer));
  summary.skipped = Access::summary(optimizer).skipped;
  summary.non_finite_gradient = Access::summary(optimizer).non_finite_gradient;
  Access::summary(optimizer) = std::move(summary);
}

}  // namespace cuda
}  // namespace sadam::optim
