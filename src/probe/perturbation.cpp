#include "perturbation.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dot.h>
#include <sadam/error.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "strided.h"

namespace sadam::probe {
namespace {

using kernels::DirectionKey;
using kernels::Distribution;

template <class T>
constexpr at::ScalarType scalar_type_of() {
  return c10::CppTypeToScalarType<T>::value;
}

// w = w₀ + scale·z for a tensor whose elements are not contiguous: gathered in logical order a stretch at a
// time, moved by the same kernel as any other, and scattered.
template <class T>
void perturb_scattered(const at::Tensor& w, const at::Tensor& w0, kernels::Perturb<T> launch,
                       std::uint64_t first, double scale) {
  constexpr std::int64_t stretch = 1024;
  std::vector<T> values(stretch);
  std::vector<std::int64_t> places(stretch);
  T* const to = w.data_ptr<T>();
  const T* const from = w0.data_ptr<T>();
  std::int64_t held = 0;
  const auto flush = [&] {
    launch.segments = {{values.data(), values.data(), held, first, scale}};
    kernels::perturb(launch);
    for (std::int64_t i = 0; i < held; ++i)
      to[places[static_cast<std::size_t>(i)]] = values[static_cast<std::size_t>(i)];
    first += static_cast<std::uint64_t>(held);
    held = 0;
  };
  walk(w, w0, [&](std::int64_t at_w, std::int64_t at_w0) {
    values[static_cast<std::size_t>(held)] = from[at_w0];
    places[static_cast<std::size_t>(held)] = at_w;
    if (++held == stretch) flush();
  });
  if (held > 0) flush();
}

}  // namespace

Perturbation::Perturbation(const Snapshot& snapshot, DirectionPlan plan)
    : snapshot_(snapshot), plan_(std::move(plan)), threads_(at::get_num_threads()) {}

void check_direction(const at::Tensor& u, const at::Tensor& parameter, std::int64_t group,
                     std::int64_t index) {
  if (u.defined() && u.sizes() == parameter.sizes() && u.scalar_type() == parameter.scalar_type() &&
      u.device() == parameter.device())
    return;
  std::ostringstream sentence;
  sentence << "source: the direction for parameter " << index << " of group " << group << " must be a "
           << parameter.scalar_type() << " tensor of shape " << parameter.sizes() << " on "
           << parameter.device() << ": return one shaped like the parameter.";
  throw Error(sentence.str());
}

double Perturbation::apply(std::int64_t probe) {
  const at::NoGradGuard no_grad;
  if (plan_.source) return apply_source(probe);
  if (plan_.directions == Directions::step) return apply_coming_step();
  return apply_random(static_cast<std::uint32_t>(probe));
}

double Perturbation::apply_source(std::int64_t probe) {
  const auto& parameters = snapshot_.parameters();
  double slope = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    const auto u = plan_.source({plan_.step, parameter.group, probe, parameter.index});
    check_direction(u, parameter.tensor, parameter.group, parameter.index);
    auto weights = parameter.tensor.variable_data();
    at::add_out(weights, snapshot_.copy(i), u, plan_.radius);
    if (plan_.slopes && plan_.gradients[i].defined())
      slope += at::dot(plan_.gradients[i].reshape({-1}).to(at::kDouble), u.reshape({-1}).to(at::kDouble))
                   .item<double>();
  }
  return slope;
}

double Perturbation::apply_random(std::uint32_t probe) {
  const DirectionKey key{plan_.seed, static_cast<std::uint64_t>(plan_.step), probe};
  const auto inverse = inverse_lengths(key);
  return apply_random_as<float>(key, inverse) + apply_random_as<double>(key, inverse);
}

// 1/‖z‖ for each parameter: one norm for all of them, or one for each tensor.
std::vector<double> Perturbation::inverse_lengths(const DirectionKey& key) const {
  const auto inverse = [](double length) {
    return length > 0 ? 1 / length : 0;
  };  // z may be 0 in one dimension
  const auto& parameters = snapshot_.parameters();
  if (parameters.empty()) return {};
  if (plan_.directions == Directions::per_tensor) {
    std::vector<double> each;
    each.reserve(parameters.size());
    for (const auto& parameter : parameters) {
      const auto count = static_cast<std::uint64_t>(parameter.tensor.numel());
      // The authors divide by ‖z‖ + 1e-12.
      each.push_back(
          inverse(std::sqrt(kernels::squared_norm({key, parameter.first, count, threads_})) + 1e-12));
    }
    return each;
  }
  std::uint64_t count = 0;
  for (const auto& parameter : parameters) count += static_cast<std::uint64_t>(parameter.tensor.numel());
  const double squared = plan_.directions == Directions::rademacher
                             ? static_cast<double>(count)
                             : kernels::squared_norm({key, parameters.front().first, count, threads_});
  return std::vector<double>(parameters.size(), inverse(std::sqrt(squared)));
}

template <class T>
double Perturbation::apply_random_as(const DirectionKey& key, const std::vector<double>& inverse) {
  const auto distribution =
      plan_.directions == Directions::rademacher ? Distribution::rademacher : Distribution::normal;
  kernels::Perturb<T> move{key, distribution, {}, threads_};
  kernels::Dot<T> steepness{key, distribution, {}, threads_};
  std::vector<at::Tensor> logical;  // gradients in logical order; a copy only where a parameter is permuted
  const auto& parameters = snapshot_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& tensor = parameters[i].tensor;
    if (tensor.scalar_type() != scalar_type_of<T>() || tensor.numel() == 0) continue;
    const auto first = parameters[i].first;
    const auto count = tensor.numel();
    const auto& w0 = snapshot_.copy(i);
    const bool wants_slope = plan_.slopes && plan_.gradients[i].defined();
    if (is_plain(tensor))
      move.segments.push_back(
          {tensor.data_ptr<T>(), w0.data_ptr<T>(), count, first, plan_.radius * inverse[i]});
    else
      perturb_scattered(tensor, w0, kernels::Perturb<T>{key, distribution, {}, threads_}, first,
                        plan_.radius * inverse[i]);
    if (wants_slope) {
      logical.push_back(plan_.gradients[i].contiguous());
      steepness.segments.push_back({logical.back().template data_ptr<T>(), count, first, inverse[i]});
    }
  }
  if (!move.segments.empty()) kernels::perturb(move);
  return steepness.segments.empty() ? 0 : kernels::dot(steepness);
}

double Perturbation::apply_coming_step() {
  return apply_coming_step_as<float>() + apply_coming_step_as<double>();
}

template <class T>
double Perturbation::apply_coming_step_as() {
  kernels::AdamProbe<T> launch;
  launch.threads = threads_;
  const auto& parameters = snapshot_.parameters();
  std::vector<std::pair<at::Tensor, at::Tensor>> scattered;  // weights with gaps, and where they are computed
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& tensor = parameters[i].tensor;
    const auto& gradient = plan_.gradients[i];
    if (tensor.scalar_type() != scalar_type_of<T>() || !gradient.defined() || tensor.numel() == 0) continue;
    const auto& coming = plan_.coming[i];
    at::Tensor out = tensor.variable_data();
    if (!is_block(tensor)) {
      out = snapshot_.copy(i).clone();
      scattered.emplace_back(tensor.variable_data(), out);
    }
    launch.segments.push_back({out.data_ptr<T>(), snapshot_.copy(i).data_ptr<T>(), coming.m.data_ptr<T>(),
                               coming.v.data_ptr<T>(), gradient.template data_ptr<T>(), tensor.numel(),
                               coming.coefficients});
  }
  if (launch.segments.empty()) return 0;
  const double slope = kernels::adam_probe(launch);
  for (auto& [weights, computed] : scattered) weights.copy_(computed);
  return slope;
}

}  // namespace sadam::probe
