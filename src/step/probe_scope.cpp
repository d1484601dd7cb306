#include "step/probe_scope.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <exception>

namespace sadam::step {
ProbeScope::ProbeScope(const Backend& backend, Lane& lane, bool in_place, const Items& items,
                       GroupRange groups, const ForwardState* replay)
    : backend_(backend), lane_(lane), in_place_(in_place), items_(items), groups_(groups), replay_(replay) {
  std::vector<at::Tensor> weights;
  for (const auto& item : items) weights.push_back(item.parameter);
  if (groups.first < groups.end) lane.weights.fit(weights);
  TensorPairs kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool moves = groups.has(items[i]);
    const auto own = moves ? weights[i].variable_data() : at::Tensor();
    const auto copy = moves ? lane.weights[i] : at::Tensor();
    target_.from.push_back(in_place ? copy : own);
    target_.to.push_back(in_place ? own : copy);
    if (in_place && moves) kept.emplace_back(copy, own);
  }
  copy_tensors(backend, kept);
  if (replay == nullptr) return;
  lane.buffers.fit(replay->copies());
  TensorPairs buffers;
  for (std::size_t i = 0; i < replay->copies().size(); ++i)
    buffers.emplace_back(lane.buffers[i], replay->copies()[i]);
  copy_tensors(backend, buffers);
}

ProbeScope::~ProbeScope() {
  if (!in_place_) return;
  TensorPairs back;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (target_.to[i].defined()) back.emplace_back(target_.to[i], target_.from[i]);
  try {
    copy_tensors(backend_, back);
  } catch (const std::exception& error) {  // a destructor may not throw
    TORCH_WARN("sadam: the weights could not be put back after a probe: ", error.what());
  }
}

at::Tensor ProbeScope::evaluate(const std::vector<LossClosure>& parts) const {
  at::Tensor loss;
  show([&] {
    const at::NoGradGuard no_grad;
    loss = sum_of(parts, "probe");
    if (replay_ != nullptr) replay_->draws.check_replay();
  });
  return loss;
}

void ProbeScope::show(const std::function<void()>& work) const {
  Swap swap;
  // In place, too: a forward pass may point a parameter elsewhere.
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (target_.to[i].defined()) swap.point(items_[i].parameter, target_.to[i]);
  if (replay_ != nullptr) {
    for (std::size_t i = 0; i < replay_->buffers().size(); ++i)
      swap.point(replay_->buffers()[i], lane_.buffers[i]);
    replay_->draws.replay();
  }
  work();
}

}  // namespace sadam::step
