// What a DeviceOptimizer's arrays hold, and how the host learns of it.
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "../access.h"
#include "../state.h"
#include "device_optimizer.h"
#include "replicas.h"

namespace sadam::optim::cuda {
namespace {

bool same_items(const Items& a, const Items& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Item& x, const Item& y) {
    return x.parameter.is_same(y.parameter) && x.data == y.data && x.group == y.group && x.first == y.first &&
           x.first_moment.is_same(y.first_moment) && x.second_moment.is_same(y.second_moment);
  });
}

}  // namespace

void DeviceOptimizer::arrange(Optimizer& optimizer, const std::vector<double>& brakes) {
  const auto kind = kind_of(optimizer);
  const c10::cuda::CUDAGuard guard(Access::device(optimizer));
  forget_lost_states(optimizer.state());  // before new ones take their place in memory
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
    refresh_states(optimizer.state());
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
    std::vector<ParameterEntry> entries;
    for (std::size_t i = 0; i < items.size(); ++i)
      entries.push_back({states[i] != nullptr ? states[i]->step() : 0, items[i].group,
                         items[i].parameter.grad().defined()});
    items_.clear();  // should there be no memory for them, the next call tries again
    states_.clear();
    numbers_->set_parameters(entries);
    items_ = std::move(items);
  }
  states_ = std::move(states);  // copies that share their moments with the originals take their place
  numbers_->set_rules(rules_of(optimizer, brakes));
}

void DeviceOptimizer::count_step() {
  ++begun_;
  stream_ = c10::cuda::getCurrentCUDAStream(numbers_->device().index());
}

// Whoever asks may be on another stream.
void DeviceOptimizer::wait_for_steps() const {
  if (!stream_) return;
  const auto current = c10::cuda::getCurrentCUDAStream(stream_->device_index());
  if (current != *stream_) join(current, *stream_);
}

void DeviceOptimizer::refresh(StepSummary& summary, Totals& totals) {
  if (!numbers_ || refreshed_ == begun_) return;
  wait_for_steps();
  const auto counts = numbers_->counts();
  totals.steps = counts.steps;
  totals.skipped = counts.skipped;
  totals.non_finite_probes = counts.non_finite_probes + judged_on_host_;
  summary = numbers_->summaries(begun_ - 1, begun_).front();
  refreshed_ = begun_;
}

void DeviceOptimizer::refresh_states(const StateMap& states) {
  if (!numbers_ || items_.empty()) return;
  forget_lost_states(states);
  wait_for_steps();
  const auto updates = numbers_->updates();
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i] != nullptr) states_[i]->step(updates[i]);
}

// Whoever wants to start afresh clears the optimizer's state().
void DeviceOptimizer::forget_lost_states(const StateMap& states) {
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i] != nullptr && find_state<AdamWParamState>(states, items_[i].parameter) != states_[i])
      states_[i] = nullptr;
}

std::vector<StepSummary> DeviceOptimizer::take_summaries() {
  if (!numbers_) return {};
  wait_for_steps();
  auto summaries = numbers_->summaries(taken_, begun_);
  taken_ = begun_;
  return summaries;
}

std::vector<double> DeviceOptimizer::last_lgi() {
  wait_for_steps();
  return numbers_ ? numbers_->last_lgi() : std::vector<double>();
}

}  // namespace sadam::optim::cuda
