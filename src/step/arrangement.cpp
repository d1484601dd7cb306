// The numbers of an engine: what they hold, and how the host learns of it.
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <sadam/error.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "step/attempt.h"
#include "step/engine.h"

namespace sadam::step {
namespace {

bool is_same_item(const Item& a, const Item& b) {
  return a.parameter.is_same(b.parameter) && a.data == b.data && a.group == b.group && a.first == b.first &&
         a.t == b.t && a.first_moment.is_same(b.first_moment) && a.second_moment.is_same(b.second_moment);
}

// As far as can be seen without its state.
bool is_unchanged(const Item& now, const Item& then) {
  return now.parameter.is_same(then.parameter) && now.parameter.data_ptr() == then.data &&
         now.group == then.group && now.is_trained() == then.first_moment.defined();
}

}  // namespace

void Engine::use(const Problem& problem) {
  const auto device = problem.parameters.front().device();
  if (backend_ && device == device_) return;
  refresh();
  backend_ = make_backend(device);
  device_ = device;
}

void Engine::arrange(const Problem& problem, const Request& request) {
  use(problem);
  const c10::DeviceGuard guard(device_);
  const auto refuse_if_recorded = [&] {
    if (request.recorded)
      throw Error("the loss does not use the same parameters every time that it is called.");
  };
  NumbersShape shape;
  shape.groups = problem.all_groups().end;
  if (problem.plan) {
    shape.probes = problem.plan->evaluations() * (problem.plan->group_by_group ? shape.groups : 1);
    shape.slopes = problem.plan->wants_slopes();
  }
  const bool new_numbers = !numbers_ || !(numbers_->shape() == shape) || numbers_->device() != device_;
  const bool unchanged = !new_numbers && std::equal(problem.items.begin(), problem.items.end(),
                                                    items_.begin(), items_.end(), is_unchanged);
  if (!unchanged) {
    refuse_if_recorded();
    // Before moments are made or converted: the states learn of the updates that they have had.
    for (const auto& item : updated_items()) problem.set_updates(item);
  }
  auto items = problem.items;
  for (auto& item : items) {
    item.data = item.parameter.data_ptr();
    if (item.is_trained()) problem.find_state(item);
  }
  if (new_numbers || !std::equal(items.begin(), items.end(), items_.begin(), items_.end(), is_same_item)) {
    refuse_if_recorded();
    ++layout_;
    if (new_numbers) {
      refresh();
      untaken_ = take_summaries();
      auto known = memory();
      // A group that joined later starts from the common ρ.
      const bool common = problem.plan && !problem.plan->group_by_group;
      known.resize(static_cast<std::size_t>(shape.groups),
                   common && !known.empty() ? known.back() : kernels::GroupMemory());
      numbers_ = std::make_shared<Numbers>(device_, shape, totals_, std::move(known));
      begun_ = refreshed_ = taken_ = 0;
      open_ = false;
    }
    items_.clear();  // should there be no memory for them, the next call tries again
    numbers_->set_items(items);
    items_ = std::move(items);
  }
  auto rules = problem.rules;
  for (std::size_t g = 0; g < request.brakes.size(); ++g) rules[g].given_brake = request.brakes[g];
  numbers_->set_rules(rules, *backend_);
}

void Engine::start(const Problem& problem, const Request& request, const at::Tensor& loss) {
  arrange(problem, request);
  backend_->kernels().start_step({numbers_->state(), backend_->place()});
  if (loss.defined()) note(loss, numbers_->loss());
}

void Engine::note(const at::Tensor& loss, const at::Tensor& slot) {
  const at::NoGradGuard no_grad;
  slot.copy_(loss.reshape({}));
}

void Engine::finish(const Request& request, const kernels::Round& round) {
  backend_->kernels().finish_step({round, numbers_->state(), backend_->place()});
  if (round.closes && !request.recorded) count_step();
}

bool Engine::knows_skip(const kernels::Round& round) const {
  return backend_->knows_skip(numbers_->state(), round.has_loss, round.has_base);
}

/// Computed from weights, a loss is no finer than they are.
double Engine::rounding_of(const at::Tensor& loss) const {
  return std::max(step::rounding_of(loss.scalar_type()), rounding_of_weights());
}

double Engine::rounding_of_weights() const {
  double rounding = 0;
  for (const auto& item : items_)
    rounding = std::max(rounding, step::rounding_of(item.parameter.scalar_type()));
  return rounding;
}

bool Engine::is_due(const Problem& problem, GroupRange groups) const {
  if (!problem.plan) return false;
  if (steps_begun() % problem.plan->interval != 0) return false;
  if (problem.plan->monitor) return true;
  return std::any_of(problem.rules.begin() + groups.first, problem.rules.begin() + groups.end,
                     [](const kernels::GroupRule& rule) { return rule.damping != 0; });
}

/// What a caller's source is told: only that needs to know, so only that waits.
std::int64_t Engine::source_step(const ProbePlan& plan) {
  if (!plan.source) return 0;
  refresh();
  return totals_.steps;
}

void Engine::count_step() {
  ++begun_;
  open_ = false;
  stream_ = current_stream(device_);
}

// ---- what happened ----------------------------------------------------------------------------------------

/// Whoever asks may be on another stream.
void Engine::wait_for_steps() const {
  if (!stream_ || stream_->device().is_cpu()) return;
  const auto current = current_stream(stream_->device());
  if (current != *stream_) join_streams(current, *stream_);
}

void Engine::refresh() {
  if (!numbers_ || (refreshed_ == begun_ && !open_)) return;
  wait_for_steps();
  const auto counts = numbers_->counts();
  totals_.steps = counts.steps;
  totals_.skipped = counts.skipped;
  totals_.non_finite_probes = counts.non_finite_probes;
  summary_ = numbers_->summaries(begun_ - 1 + (open_ ? 1 : 0), begun_ + (open_ ? 1 : 0)).front();
  refreshed_ = begun_;
}

const StepSummary& Engine::summary() {
  refresh();
  return summary_;
}

const Totals& Engine::totals() {
  refresh();
  return totals_;
}

std::vector<StepSummary> Engine::take_summaries() {
  auto summaries = std::exchange(untaken_, {});
  if (!numbers_) return summaries;
  wait_for_steps();
  const auto later = numbers_->summaries(std::exchange(taken_, begun_), begun_);
  summaries.insert(summaries.end(), later.begin(), later.end());
  const auto too_many = static_cast<std::ptrdiff_t>(summaries.size()) - Numbers::kRing;
  if (too_many > 0) summaries.erase(summaries.begin(), summaries.begin() + too_many);
  return summaries;
}

std::vector<kernels::GroupMemory> Engine::memory() {
  wait_for_steps();
  return numbers_ ? numbers_->memory() : memory_;
}

Items Engine::updated_items() {
  if (!numbers_ || items_.empty()) return {};
  wait_for_steps();
  const auto updates = numbers_->updates();
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].t = updates[i];
  return items_;
}

void Engine::restore(const Totals& totals, std::vector<kernels::GroupMemory> memory) {
  numbers_.reset();
  items_.clear();
  begun_state_.reset();
  probed_state_.reset();
  untaken_.clear();
  summary_ = {};
  totals_ = totals;
  memory_ = std::move(memory);
  begun_ = refreshed_ = taken_ = 0;
  open_ = false;
  ranks_.compare_again();
  ++layout_;
}

}  // namespace sadam::step
