#include "device_optimizer.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cmath>

#include "../../probe/loss.h"
#include "../../probe/parameters.h"
#include "../access.h"
#include "../state.h"

namespace sadam::optim {

bool built_with_cuda() { return true; }

std::unique_ptr<DeviceWork> make_device_work() { return std::make_unique<cuda::DeviceOptimizer>(); }

namespace cuda {
namespace {

GroupRange all_groups(const Optimizer& optimizer) {
  return {0, static_cast<std::int64_t>(optimizer.param_groups().size())};
}

// The rounds of probes and updates that a step has.
std::vector<GroupRange> rounds_of(const Optimizer& optimizer, const StepKind& kind) {
  const auto all = all_groups(optimizer);
  if (kind.s_adam == nullptr || !Access::wide(*kind.s_adam).group_by_group()) return {all};
  std::vector<GroupRange> rounds;
  for (auto g = all.first; g < all.end; ++g) rounds.push_back({g, g + 1});
  return rounds;
}

bool same_items(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
    return x.parameter.is_same(y.parameter) && x.data == y.data && x.group == y.group && x.first == y.first &&
           x.first_moment.is_same(y.first_moment) && x.second_moment.is_same(y.second_moment);
  });
}

double rounding_of(const at::Tensor& loss) { return probe::rounding_of(loss.scalar_type()); }

}  // namespace

// ---- what the arrays hold ---------------------------------------------------------------------------------

void DeviceOptimizer::arrange(Optimizer& optimizer, const std::vector<double>& brakes) {
  const auto kind = kind_of(optimizer);
  const c10::cuda::CUDAGuard guard(Access::device(optimizer));
  NumbersShape shape;
  shape.groups = static_cast<std::int64_t>(optimizer.param_groups().size());
  if (kind.s_adam != nullptr) {
    const auto& whole = Access::wide(*kind.s_adam);
    const auto rounds = static_cast<std::int64_t>(rounds_of(optimizer, kind).size());
    shape.probes = probes_of(whole) * rounds;
    shape.slopes = whole.statistic() == Statistic::residual;
  }
  Items items;
  std::vector<AdamWParamState*> states;
  std::uint64_t first = 0;
  for (std::int64_t g = 0; g < shape.groups; ++g) {
    const auto& parameters = optimizer.param_groups()[static_cast<std::size_t>(g)].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& parameter = parameters[i];
      if (!parameter.requires_grad()) continue;
      auto& item = items.emplace_back();
      item.parameter = parameter;
      item.data = parameter.data_ptr();
      item.group = g;
      item.index = static_cast<std::int64_t>(i);
      item.first = first;
      first += static_cast<std::uint64_t>(parameter.numel());
      states.push_back(nullptr);
      if (!parameter.grad().defined()) continue;
      if (kind.prox_sgd) {
        auto& buffer = state_of<ProxSGDParamState>(optimizer.state(), parameter).momentum_buffer();
        ensure_moment(buffer, parameter);
        item.first_moment = buffer;
      } else {
        auto& state = state_of<AdamWParamState>(optimizer.state(), parameter);
        ensure_moment(state.exp_avg(), parameter);
        ensure_moment(state.exp_avg_sq(), parameter);
        item.first_moment = state.exp_avg();
        item.second_moment = state.exp_avg_sq();
        states.back() = &state;
      }
    }
  }

  const auto device = Access::device(optimizer);
  const bool new_numbers = !numbers_ || !(numbers_->shape() == shape) || numbers_->device() != device;
  if (new_numbers || !same_items(items, items_)) {
    refresh_states();
    ++layout_;
    if (new_numbers) {
      auto lgi = kind.s_adam != nullptr ? Access::last_lgi(*kind.s_adam) : std::vector<double>();
      if (numbers_) {
        refresh(Access::summary(optimizer), Access::totals(optimizer));
        lgi = numbers_->last_lgi();
      }
      // A group that joined later starts from the common ρ.
      const bool common = kind.s_adam != nullptr && !Access::wide(*kind.s_adam).group_by_group();
      lgi.resize(static_cast<std::size_t>(shape.groups), common && !lgi.empty() ? lgi.back() : 0);
      numbers_ = std::make_unique<DeviceNumbers>(device, shape, Access::totals(optimizer), lgi);
      begun_ = refreshed_ = taken_ = 0;
      judged_on_host_ = 0;
    }
    items_ = std::move(items);
    states_ = std::move(states);
    std::vector<ParameterEntry> entries;
    for (std::size_t i = 0; i < items_.size(); ++i)
      entries.push_back({states_[i] != nullptr ? states_[i]->step() : 0, items_[i].group,
                         items_[i].parameter.grad().defined()});
    numbers_->set_parameters(entries);
  }
  numbers_->set_rules(rules_of(optimizer, brakes));
}

void DeviceOptimizer::refresh(StepSummary& summary, Totals& totals) {
  if (!numbers_ || refreshed_ == begun_) return;
  const auto counts = numbers_->counts();
  totals.steps = counts.steps;
  totals.skipped = counts.skipped;
  totals.non_finite_probes = counts.non_finite_probes + judged_on_host_;
  summary = numbers_->summaries(begun_ - 1, begun_).front();
  refreshed_ = begun_;
}

void DeviceOptimizer::refresh_states() {
  if (!numbers_ || items_.empty()) return;
  const auto updates = numbers_->updates();
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i] != nullptr) states_[i]->step(updates[i]);
}

std::vector<StepSummary> DeviceOptimizer::take_summaries() {
  if (!numbers_) return {};
  auto summaries = numbers_->summaries(taken_, begun_);
  taken_ = begun_;
  return summaries;
}

std::vector<double> DeviceOptimizer::last_lgi() {
  return numbers_ ? numbers_->last_lgi() : std::vector<double>();
}

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
  if (loss.defined() && !loss.is_cuda())
    throw Error(std::string(caller) +
                ": the loss is on the CPU and the parameters are on a GPU: compute it there.");

  const auto kind = kind_of(optimizer);
  arrange(optimizer, brakes);
  start();
  if (loss.defined()) {
    const at::NoGradGuard no_grad;
    numbers_->loss().copy_(loss.reshape({}));
  }
  launches().count_non_finite_gradients();

  const auto rounds = rounds_of(optimizer, kind);
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    kernels::cuda::FinishProbes finish_round;
    if (kind.s_adam != nullptr) finish_round = judgement_of(Access::wide(*kind.s_adam));
    finish_round.first_group = rounds[r].first;
    finish_round.end_group = rounds[r].end;
    finish_round.first_round = r == 0;
    finish_round.last_round = r + 1 == rounds.size();
    finish_round.has_loss = loss.defined();
    finish_round.rounding = loss.defined() ? rounding_of(loss) : 0;
    const bool probes = kind.s_adam != nullptr && closure && brakes.empty();
    if (probes && probe_is_due(*kind.s_adam, rounds[r])) {
      const auto each = probes_of(Access::wide(*kind.s_adam));
      finish_round.first_probe = static_cast<std::int64_t>(r) * each;
      try {
        finish_round.probes = probe_in_place(static_cast<SAdam&>(optimizer), rounds[r],
                                             finish_round.first_probe, closure, loss, before.forward());
      } catch (const Error&) {
        if (r == 0) before.restore();  // else an earlier group has been updated already
        throw;
      }
    }
    if (finish_round.probes > 0) finish_round.rounding = std::max(finish_round.rounding, probe_rounding_);
    finish(finish_round);
    update(kind, rounds[r]);
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
  for (std::size_t i = 0; i < before.forward().buffers().size(); ++i)
    buffers.emplace_back(before.forward().buffers()[i].variable_data(), before.forward().copies()[i]);
  if (closure) copy_tensors(buffers, numbers_->skip());
  count_step();
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
        copy.strides() != weights.strides() || copy.device() != weights.device())
      copy = at::empty_like(weights);
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

std::int64_t DeviceOptimizer::probe_in_place(SAdam& optimizer, GroupRange groups, std::int64_t first_slot,
                                             const probe::LossClosure& closure, const at::Tensor& loss,
                                             const probe::ForwardState& before) {
  const auto& whole = Access::wide(optimizer);
  const bool shared = whole.noise() == ProbeNoise::shared;
  const auto rule = directions_of(whole, source_step(optimizer));
  const auto launch = launches();
  const InPlace scope(*this, groups, shared ? &Access::buffers(optimizer) : nullptr, numbers_->device());
  const probe::FullPrecision precision(/*cuda=*/true);
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers;
  if (shared)
    for (std::size_t i = 0; i < before.buffers().size(); ++i)
      buffers.emplace_back(before.buffers()[i].variable_data(), before.copies()[i]);
  const auto evaluate = [&](const at::Tensor& into) {
    if (shared) {
      before.restore_generators();
      copy_tensors(buffers);
    }
    at::autocast::clear_cache();
    const at::NoGradGuard no_grad;
    const auto value = closure();
    probe::check_loss(value, "probe");
    probe_rounding_ = rounding_of(value);
    into.copy_(value.reshape({}));
  };
  if (loss.defined() && !precision.was_reduced()) {
    const at::NoGradGuard no_grad;
    numbers_->base().copy_(loss.reshape({}));
  } else {
    evaluate(numbers_->base());
  }

  ProbeTarget target;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    target.to.push_back({items_[i].parameter});
    target.from.push_back(groups.has(items_[i]) ? snapshot_[i] : at::Tensor());
  }
  const auto probes = probes_of(whole);
  for (std::int64_t i = 0; i < probes; ++i) {
    const auto slot = first_slot + i;
    if (is_along_step(whole)) {
      launch.move_along_step(slot, groups, target);
    } else {
      launch.move(rule, i, groups, target);
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
  const auto probes = probe_in_place(optimizer, groups, 0, closure, base, before);
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
  launch.has_loss = false;
  finish(launch);
  update(kind_of(optimizer), all_groups(optimizer));
  count_step();
  // What the probes said stands; the device adds whether the step was taken.
  auto summary = Access::summary(optimizer);
  refresh(Access::summary(optimizer), Access::totals(optimizer));
  summary.skipped = Access::summary(optimizer).skipped;
  summary.non_finite_gradient = Access::summary(optimizer).non_finite_gradient;
  Access::summary(optimizer) = std::move(summary);
}

}  // namespace cuda
}  // namespace sadam::optim
