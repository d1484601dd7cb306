#include "launches.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "../../probe/perturbation.h"
#include "typed.h"

namespace sadam::optim::cuda {
namespace {

using kernels::Distribution;

Distribution distribution_of(const DirectionRule& rule) {
  return rule.directions == Directions::rademacher ? Distribution::rademacher : Distribution::normal;
}

// Weights with gaps or permuted, which a kernel fills in logical order: written to a plain copy first.
class PlainTargets {
 public:
  at::Tensor plain(const at::Tensor& target) {
    const auto data = target.variable_data();
    if (probe::is_plain(data)) return data;
    auto copy = at::empty(data.sizes(), data.options());
    scattered_.emplace_back(data, copy);
    return copy;
  }
  void carry_back() const {
    for (const auto& [target, copy] : scattered_) target.copy_(copy);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> scattered_;
};

}  // namespace

kernels::cuda::Stream Launches::stream() const {
  return at::cuda::getCurrentCUDAStream(numbers_.device().index()).stream();
}

kernels::cuda::DirectionKey Launches::key(const DirectionRule& rule, std::int64_t probe) const {
  return {rule.seed, numbers_.steps(), static_cast<std::uint32_t>(probe)};
}

at::Tensor Launches::scratch(std::int64_t numbers) const {
  return at::empty({numbers}, at::TensorOptions().dtype(at::kDouble).device(numbers_.device()));
}

std::vector<const double*> Launches::inverse_lengths(const DirectionRule& rule, std::int64_t probe,
                                                     GroupRange groups, at::Tensor& memory) const {
  std::vector<const double*> inverse(items_.size(), nullptr);
  if (rule.directions == Directions::rademacher) return inverse;
  const bool each = rule.directions == Directions::per_tensor;
  memory = scratch(each ? static_cast<std::int64_t>(items_.size()) : 1);
  auto* const lengths = pointer<double>(memory);
  kernels::cuda::InverseLengths launch;
  launch.key = key(rule, probe);
  launch.added = each ? 1e-12 : 0;  // the authors divide by ‖z‖ + 1e-12
  launch.stream = stream();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!groups.has(items_[i])) continue;
    const auto count = static_cast<std::uint64_t>(items_[i].parameter.numel());
    if (each) {
      launch.segments.push_back({items_[i].first, count, lengths + i});
      inverse[i] = lengths + i;
    } else {  // the parameters of a range follow one another without a gap
      if (launch.segments.empty())
        launch.segments.push_back({items_[i].first, count, lengths});
      else
        launch.segments.back().count += count;
      inverse[i] = lengths;
    }
  }
  const auto partial = scratch(kernels::cuda::scratch_numbers(launch));
  launch.scratch = pointer<double>(partial);
  kernels::cuda::inverse_lengths(launch);
  return inverse;
}

double Launches::rademacher_scale(GroupRange groups) const {
  double count = 0;
  for (const auto& item : items_)
    if (groups.has(item)) count += static_cast<double>(item.parameter.numel());
  return count > 0 ? 1 / std::sqrt(count) : 0;
}

void Launches::move(const DirectionRule& rule, std::int64_t probe, std::int64_t slot, GroupRange groups,
                    const ProbeTarget& target) const {
  const at::NoGradGuard no_grad;
  if (rule.source) return move_to_source(rule, probe, slot, groups, target);
  at::Tensor memory;
  const auto inverse = inverse_lengths(rule, probe, groups, memory);
  const double unit = rule.directions == Directions::rademacher ? rademacher_scale(groups) : 1;
  move_as<float>(rule, probe, groups, target, inverse, rule.radius * unit);
  move_as<double>(rule, probe, groups, target, inverse, rule.radius * unit);
}

template <class T>
void Launches::move_as(const DirectionRule& rule, std::int64_t probe, GroupRange groups,
                       const ProbeTarget& target, const std::vector<const double*>& inverse,
                       double scale) const {
  kernels::cuda::Perturb<T> launch;
  launch.key = key(rule, probe);
  launch.distribution = distribution_of(rule);
  launch.scale = scale;
  launch.stream = stream();
  PlainTargets targets;
  std::vector<at::Tensor> kept;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item) || !is_of<T>(item.parameter)) continue;
    kept.push_back(target.from[i].contiguous());
    for (const auto& to : target.to[i])
      launch.segments.push_back({pointer<T>(targets.plain(to)), pointer<T>(kept.back()),
                                 item.parameter.numel(), item.first, inverse[i]});
  }
  if (!launch.segments.empty()) kernels::cuda::perturb(launch);
  targets.carry_back();
}

void Launches::move_to_source(const DirectionRule& rule, std::int64_t probe, std::int64_t slot,
                              GroupRange groups, const ProbeTarget& target) const {
  const bool slopes = numbers_.shape().slopes;
  auto slope = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(numbers_.device()));
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item)) continue;
    const auto u = rule.source({rule.source_step, item.group, probe, item.index});
    probe::check_direction(u, item.parameter, item.group, item.index);
    const auto moved = target.from[i] + u * rule.radius;
    for (const auto& to : target.to[i]) to.variable_data().copy_(moved);
    if (slopes && item.parameter.grad().defined())
      slope += at::dot(item.parameter.grad().reshape({-1}).to(at::kDouble), u.reshape({-1}).to(at::kDouble));
  }
  if (slopes) numbers_.slope_tensor(slot).add_(slope);
}

void Launches::add_slope(const DirectionRule& rule, std::int64_t probe, std::int64_t slot,
                         GroupRange groups) const {
  const at::NoGradGuard no_grad;
  if (rule.source) return;  // move() has
  at::Tensor memory;
  const auto inverse = inverse_lengths(rule, probe, groups, memory);
  const double unit = rule.directions == Directions::rademacher ? rademacher_scale(groups) : 1;
  add_slope_as<float>(rule, probe, slot, groups, inverse, unit);
  add_slope_as<double>(rule, probe, slot, groups, inverse, unit);
}

template <class T>
void Launches::add_slope_as(const DirectionRule& rule, std::int64_t probe, std::int64_t slot,
                            GroupRange groups, const std::vector<const double*>& inverse,
                            double scale) const {
  kernels::cuda::Dot<T> launch;
  launch.key = key(rule, probe);
  launch.distribution = distribution_of(rule);
  launch.scale = scale;
  launch.out = numbers_.slope(slot);
  launch.stream = stream();
  std::vector<at::Tensor> kept;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    const auto& gradient = item.parameter.grad();
    if (!groups.has(item) || !gradient.defined() || !is_of<T>(gradient)) continue;
    kept.push_back(gradient.contiguous());
    launch.segments.push_back({pointer<T>(kept.back()), gradient.numel(), item.first, inverse[i]});
  }
  if (launch.segments.empty()) return;
  const auto partial = scratch(kernels::cuda::scratch_numbers(launch));
  launch.scratch = pointer<double>(partial);
  kernels::cuda::dot(launch);
}

void Launches::move_along_step(std::int64_t slot, GroupRange groups, const ProbeTarget& target) const {
  const at::NoGradGuard no_grad;
  move_along_step_as<float>(slot, groups, target);
  move_along_step_as<double>(slot, groups, target);
}

template <class T>
void Launches::move_along_step_as(std::int64_t slot, GroupRange groups, const ProbeTarget& target) const {
  kernels::cuda::AdamProbe<T> launch;
  launch.slope = numbers_.slope(slot);
  launch.stream = stream();
  std::vector<at::Tensor> kept;
  std::vector<std::pair<at::Tensor, at::Tensor>> moved;  // targets, and what belongs there
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item) || !is_of<T>(item.parameter)) continue;
    if (!item.parameter.grad().defined()) {  // does not move, but a replica must hold it
      for (const auto& to : target.to[i]) moved.emplace_back(to.variable_data(), target.from[i]);
      continue;
    }
    const auto& from = target.from[i];
    auto out = target.to[i].front().variable_data();
    if (out.strides() != from.strides()) {  // the memory orders differ: written aside
      out = at::empty_like(from);
      moved.emplace_back(target.to[i].front().variable_data(), out);
    }
    for (std::size_t copy = 1; copy < target.to[i].size(); ++copy)
      moved.emplace_back(target.to[i][copy].variable_data(), out);
    kept.push_back(gradient_like(item.parameter));
    launch.segments.push_back({pointer<T>(out), pointer<T>(from), pointer<T>(item.first_moment),
                               pointer<T>(item.second_moment), pointer<T>(kept.back()),
                               item.parameter.numel(), numbers_.coefficients(i)});
    kept.push_back(out);
  }
  if (!launch.segments.empty()) {
    const auto partial = scratch(kernels::cuda::scratch_numbers(launch));
    launch.scratch = pointer<double>(partial);
    kernels::cuda::adam_probe(launch);
  }
  for (auto& [to, from] : moved) to.copy_(from);
}

}  // namespace sadam::optim::cuda
