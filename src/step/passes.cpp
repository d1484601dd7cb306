#include "step/passes.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <sadam/error.h>

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace sadam::step {
namespace {

using kernels::Distribution;

/// Whether a kernel for T has something to do there.
template <class T>
bool is_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == c10::CppTypeToScalarType<T>::value && tensor.numel() > 0;
}

template <class T>
T* pointer(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

Distribution distribution_of(const ProbePlan& plan) {
  switch (plan.directions) {
    case Directions::rademacher:
      return Distribution::rademacher;
    case Directions::sphere:
    case Directions::per_tensor:
      return Distribution::normal;
    case Directions::step:
      break;
  }
  throw std::logic_error("the step is no random direction");
}

void check_direction(const at::Tensor& u, const Item& item) {
  const auto& parameter = item.parameter;
  if (u.defined() && u.sizes() == parameter.sizes() && u.scalar_type() == parameter.scalar_type() &&
      u.device() == parameter.device())
    return;
  std::ostringstream sentence;
  sentence << "source: the direction for parameter " << item.index << " of group " << item.group
           << " must be a " << parameter.scalar_type() << " tensor of shape " << parameter.sizes() << " on "
           << parameter.device() << ": return one shaped like the parameter.";
  throw Error(sentence.str());
}

}  // namespace

at::Tensor Passes::scratch(std::int64_t numbers) const {
  return at::empty({numbers}, at::TensorOptions().dtype(at::kDouble).device(numbers_.device()));
}

void Passes::count_non_finite_gradients() const {
  count_as<float>();
  count_as<double>();
}

template <class T>
void Passes::count_as() const {
  kernels::CountNonFinite<T> launch;
  launch.out = numbers_.non_finite_gradient();
  launch.place = backend_.place();
  std::vector<at::Tensor> kept;
  for (const auto& item : items_) {
    const auto& gradient = item.gradient();
    if (!gradient.defined() || !is_of<T>(gradient)) continue;
    kept.push_back(is_block(gradient) ? gradient : gradient.contiguous());
    launch.segments.push_back({pointer<T>(kept.back()), gradient.numel()});
  }
  if (!launch.segments.empty()) backend_.kernels().of<T>().count_non_finite(launch);
}

// ---- directions -------------------------------------------------------------------------------------------

Direction Passes::direction(const ProbePlan& plan, std::int64_t probe, std::int64_t step,
                            GroupRange groups) const {
  const at::NoGradGuard no_grad;
  Direction u;
  u.probe = probe;
  u.groups = groups;
  if (plan.source) {
    for (const auto& item : items_) {
      u.given.emplace_back();
      if (!groups.has(item)) continue;
      u.given.back() = plan.source({step, item.group, probe, item.index});
      check_direction(u.given.back(), item);
    }
    return u;
  }
  u.inverse.assign(items_.size(), nullptr);
  double count = 0;
  for (const auto& item : items_)
    if (groups.has(item)) count += static_cast<double>(item.parameter.numel());
  if (plan.directions == Directions::rademacher) {
    u.unit = count > 0 ? 1 / std::sqrt(count) : 0;
    return u;
  }
  const bool each = plan.directions == Directions::per_tensor;
  u.lengths = scratch(each ? static_cast<std::int64_t>(items_.size()) : 1);
  kernels::InverseLengths launch;
  launch.direction = key(plan, probe);
  launch.added = each ? 1e-12 : 0;  // the authors divide by ‖z‖ + 1e-12
  launch.place = backend_.place();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!groups.has(items_[i])) continue;
    const auto size = static_cast<std::uint64_t>(items_[i].parameter.numel());
    auto* const length = pointer<double>(u.lengths) + (each ? i : 0);
    u.inverse[i] = length;
    if (each || launch.segments.empty())
      launch.segments.push_back({items_[i].first, size, length});
    else  // the parameters of a range follow one another without a gap
      launch.segments.back().count += size;
  }
  const auto partial = scratch(backend_.kernels().lengths_scratch(launch));
  launch.scratch = pointer<double>(partial);
  backend_.kernels().inverse_lengths(launch);
  return u;
}

void Passes::move(const ProbePlan& plan, const Direction& u, const Target& target) const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < u.given.size(); ++i) {
    if (!u.given[i].defined()) continue;
    auto to = target.to[i];
    at::add_out(to, target.from[i], u.given[i], plan.radius);
  }
  if (!u.given.empty()) return;
  move_as<float>(plan, u, target);
  move_as<double>(plan, u, target);
}

template <class T>
void Passes::move_as(const ProbePlan& plan, const Direction& u, const Target& target) const {
  kernels::Perturb<T> launch;
  launch.direction = key(plan, u.probe);
  launch.distribution = distribution_of(plan);
  launch.scale = plan.radius * u.unit;
  launch.place = backend_.place();
  const auto& perturb = backend_.kernels().of<T>().perturb;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!u.groups.has(item) || !is_of<T>(item.parameter)) continue;
    const auto& from = target.from[i];
    const auto& to = target.to[i];
    const auto count = item.parameter.numel();
    if (is_plain(to)) {
      launch.segments.push_back({pointer<T>(to), pointer<T>(from), count, item.first, u.inverse[i]});
      continue;
    }
    // Permuted or with gaps: in logical order, then to where it belongs.
    const auto logical = from.contiguous();
    auto one = launch;
    one.segments = {{pointer<T>(logical), pointer<T>(logical), count, item.first, u.inverse[i]}};
    perturb(one);
    to.copy_(logical);
  }
  if (!launch.segments.empty()) perturb(launch);
}

void Passes::add_slope(const ProbePlan& plan, const Direction& u, std::int64_t slot) const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < u.given.size(); ++i) {
    if (!u.given[i].defined() || !items_[i].is_trained()) continue;
    const auto gradient = items_[i].gradient().reshape({-1}).to(at::kDouble);
    numbers_.slope_tensor(slot).add_(at::dot(gradient, u.given[i].reshape({-1}).to(at::kDouble)));
  }
  if (!u.given.empty()) return;
  add_slope_as<float>(plan, u, slot);
  add_slope_as<double>(plan, u, slot);
}

template <class T>
void Passes::add_slope_as(const ProbePlan& plan, const Direction& u, std::int64_t slot) const {
  kernels::Dot<T> launch;
  launch.direction = key(plan, u.probe);
  launch.distribution = distribution_of(plan);
  launch.scale = u.unit;
  launch.out = numbers_.slope(slot);
  launch.place = backend_.place();
  std::vector<at::Tensor> logical;  // a copy only where a gradient is permuted
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& gradient = items_[i].gradient();
    if (!u.groups.has(items_[i]) || !gradient.defined() || !is_of<T>(gradient)) continue;
    logical.push_back(gradient.contiguous());
    launch.segments.push_back({pointer<T>(logical.back()), gradient.numel(), items_[i].first, u.inverse[i]});
  }
  if (launch.segments.empty()) return;
  const auto& kernels = backend_.kernels().of<T>();
  const auto partial = scratch(kernels.dot_scratch(launch));
  launch.scratch = pointer<double>(partial);
  kernels.dot(launch);
}

void Passes::move_along_step(std::int64_t slot, GroupRange groups, const Target& target) const {
  const at::NoGradGuard no_grad;
  move_along_step_as<float>(slot, groups, target);
  move_along_step_as<double>(slot, groups, target);
}

template <class T>
void Passes::move_along_step_as(std::int64_t slot, GroupRange groups, const Target& target) const {
  kernels::AdamProbe<T> launch;
  launch.slope = numbers_.slope(slot);
  launch.place = backend_.place();
  std::vector<at::Tensor> kept;
  TensorPairs written;  // where it belongs, and what the kernel has written
  TensorPairs unmoved;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item) || !is_of<T>(item.parameter)) continue;
    auto from = target.from[i];
    auto to = target.to[i];
    if (!item.is_trained()) {
      unmoved.emplace_back(to, from);
      continue;
    }
    if (!is_block(item.parameter)) {  // the moments of one with gaps have none
      from = from.contiguous();
      to = at::empty_like(from);
      written.emplace_back(target.to[i], to);
    }
    kept.insert(kept.end(), {from, to, laid_out_like(item.gradient(), item.parameter)});
    launch.segments.push_back({pointer<T>(to), pointer<T>(from), pointer<T>(item.first_moment),
                               pointer<T>(item.second_moment), pointer<T>(kept.back()),
                               item.parameter.numel(), numbers_.coefficients(i)});
  }
  copy_tensors(backend_, unmoved);
  if (launch.segments.empty()) return;
  const auto& kernels = backend_.kernels().of<T>();
  const auto partial = scratch(kernels.adam_probe_scratch(launch));
  launch.scratch = pointer<double>(partial);
  kernels.adam_probe(launch);
  for (const auto& [to, from] : written) to.copy_(from);
}

// ---- uphill -----------------------------------------------------------------------------------------------

void Passes::ascend(const GradientPlan& plan, const Target& target) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> kept;
  TensorPairs written;  // where it belongs, and what a kernel has written
  const auto length =
      at::zeros({1}, at::TensorOptions().dtype(at::kDouble).device(numbers_.device()));  // squared
  auto of_float = ascent_of<float>(target, kept, written);
  auto of_double = ascent_of<double>(target, kept, written);
  const auto measure = [&](auto& launch, const auto& kernels) {
    launch.adaptive = plan.gradient_at == GradientAt::adaptive_ascent;
    launch.radius = plan.gradient_radius;
    launch.squared_length = pointer<double>(length);
    if (launch.segments.empty()) return;
    const auto partial = scratch(kernels.ascent_scratch(launch));
    launch.scratch = pointer<double>(partial);
    kernels.ascent_length(launch);
  };
  const auto& kernels = backend_.kernels();
  measure(of_float, kernels.of<float>());  // one length over all types
  measure(of_double, kernels.of<double>());
  if (!of_float.segments.empty()) kernels.of<float>().ascend(of_float);
  if (!of_double.segments.empty()) kernels.of<double>().ascend(of_double);
  for (const auto& [to, from] : written) to.copy_(from);
}

template <class T>
kernels::Ascent<T> Passes::ascent_of(const Target& target, std::vector<at::Tensor>& kept,
                                     TensorPairs& written) const {
  kernels::Ascent<T> launch;
  launch.place = backend_.place();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!is_of<T>(item.parameter) || !item.is_trained()) continue;
    auto from = target.from[i];
    auto to = target.to[i];
    if (!is_block(item.parameter)) {
      from = from.contiguous();
      to = at::empty_like(from);
      written.emplace_back(target.to[i], to);
    }
    kept.insert(kept.end(), {from, to, laid_out_like(item.gradient(), item.parameter)});
    launch.segments.push_back(
        {pointer<T>(to), pointer<T>(from), pointer<T>(kept.back()), item.parameter.numel()});
  }
  return launch;
}

// ---- the update -------------------------------------------------------------------------------------------

void Passes::update(Update kind, GroupRange groups) const {
  const at::NoGradGuard no_grad;
  update_as<float>(kind, groups);
  update_as<double>(kind, groups);
}

template <class T>
void Passes::update_as(Update kind, GroupRange groups) const {
  kernels::AdamUpdate<T> adam;
  kernels::ProxSgdUpdate<T> prox_sgd;
  adam.skip = prox_sgd.skip = numbers_.skip();
  adam.place = prox_sgd.place = backend_.place();
  std::vector<at::Tensor> kept;
  TensorPairs written;  // parameters with gaps, and what the kernel has written
  std::vector<const Item*> updated;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto& item = items_[i];
    if (!groups.has(item) || !is_of<T>(item.parameter) || !item.is_trained()) continue;
    const auto count = item.parameter.numel();
    auto weights = item.parameter.variable_data();
    if (!is_block(weights)) {
      written.emplace_back(weights, weights.contiguous());
      weights = written.back().second;
    }
    kept.insert(kept.end(), {weights, laid_out_like(item.gradient(), item.parameter)});
    if (kind == Update::adam)
      adam.segments.push_back({pointer<T>(weights), pointer<T>(item.first_moment),
                               pointer<T>(item.second_moment), pointer<T>(kept.back()), count,
                               numbers_.coefficients(i)});
    else
      prox_sgd.segments.push_back({pointer<T>(weights), pointer<T>(item.first_moment),
                                   pointer<T>(kept.back()), count, numbers_.rule(item.group)});
    updated.push_back(&item);
  }
  if (updated.empty()) return;
  if (kind == Update::adam)
    backend_.kernels().of<T>().adam_update(adam);
  else
    backend_.kernels().of<T>().prox_sgd_update(prox_sgd);
  for (const auto& [to, from] : written) to.copy_(from);
  // Torch learns of the change, as of any in-place one.
  for (const auto* item : updated) item->parameter.unsafeGetTensorImpl()->bump_version();
}

namespace {

// Of an expanded pattern, which has elements in one place of memory, only the first of those.
at::Tensor without_repetition(at::Tensor tensor, const at::Tensor& pattern) {
  if (pattern.layout() != at::kStrided || tensor.sizes() != pattern.sizes()) return tensor;
  for (std::int64_t d = 0; d < pattern.dim(); ++d)
    if (pattern.stride(d) == 0 && pattern.size(d) > 1) tensor = tensor.narrow(d, 0, 1);
  return tensor;
}

}  // namespace

void copy_tensors(const Backend& backend, const TensorPairs& to_from, const std::int64_t* only_if) {
  const at::NoGradGuard no_grad;
  kernels::Copy launch;
  launch.only_if = only_if;
  launch.place = backend.place();
  for (const auto& [to_all, from_all] : to_from) {
    const auto to = without_repetition(to_all, to_all);
    const auto from = without_repetition(from_all, to_all);
    const bool plain = to.layout() == at::kStrided && from.layout() == at::kStrided &&
                       to.scalar_type() == from.scalar_type() && to.sizes() == from.sizes() &&
                       to.device() == from.device();
    if (plain && to.strides() == from.strides() && is_block(to)) {
      launch.segments.push_back({to.data_ptr(), from.data_ptr(), static_cast<std::int64_t>(from.nbytes())});
    } else if (only_if == nullptr) {
      to.copy_(from);
    } else {
      const auto condition = at::from_blob(const_cast<std::int64_t*>(only_if), {},
                                           at::TensorOptions().dtype(at::kLong).device(to.device()));
      to.copy_(at::where(condition.ne(0), from, to));
    }
  }
  if (!launch.segments.empty()) backend.kernels().copy(launch);
}

}  // namespace sadam::step
