#include "lab/walk.h"

#include <stdexcept>
#include <utility>

namespace sadam::lab {

Directional::Directional(std::size_t dimensions, std::uint64_t seed) : moved_(dimensions) {
  length_.direction = {seed, &step_, 0};
  length_.segments = {{0, dimensions, &inverse_length_}};
  perturb_.direction = length_.direction;
  perturb_.segments = {{moved_.data(), nullptr, static_cast<std::int64_t>(dimensions), 0, &inverse_length_}};
}

const Point& Directional::from(const Point& x, double radius, std::int64_t step, std::uint32_t probe) {
  step_ = step;
  length_.direction.probe = perturb_.direction.probe = probe;
  perturb_.scale = radius;
  perturb_.segments.front().base = x.data();
  kernels::cpu_kernels().inverse_lengths(length_);
  kernels::cpu_kernels().of_double.perturb(perturb_);
  return moved_;
}

std::vector<double> differences(const Function& f, const Point& x, double radius, std::int64_t probes,
                                std::uint64_t seed, std::int64_t step) {
  Directional directions(x.size(), seed);
  const double base = f(x);
  std::vector<double> all;
  for (std::int64_t i = 0; i < probes; ++i)
    all.push_back((f(directions.from(x, radius, step, static_cast<std::uint32_t>(i))) - base) / radius);
  return all;
}

WalkOptions WalkOptions::paper(double lr) {
  WalkOptions options;
  options.rule.lr = lr;
  options.rule.damping = 2;
  options.rule.bias_correction = BiasCorrection::none;
  options.rule.weight_decay = 0;
  return options;
}

WalkOptions WalkOptions::adam(double lr) {
  auto options = paper(lr);
  options.rule.damping = 0;
  options.probes = 0;
  return options;
}

Walk::Walk(Point start, const WalkOptions& options)
    : options_(options),
      rule_(options.rule),
      w_(std::move(start)),
      m_(w_.size(), 0),
      v_(w_.size(), 0),
      gradient_(w_.size(), 0),
      directions_(w_.size(), options.seed),
      probed_(static_cast<std::size_t>(options.probes)),
      slopes_(probed_.size(), 0) {
  if (kernels::reads_slopes(options.statistic))
    throw std::invalid_argument("a walk takes no slopes, so it has no residual");
  auto& state = finish_.state;
  state.numbers = &numbers_;
  state.rules = &rule_;
  state.memory = &memory_;
  state.groups = 1;
  parameter_.trained = 1;
  state.parameters = &parameter_;
  state.parameter_count = 1;
  state.loss = state.base = &loss_;
  state.probed = probed_.data();
  state.slopes = slopes_.data();
  state.probes = options.probes;
  state.ring = 1;
  records_.resize(static_cast<std::size_t>(state.record_size()));
  state.records = records_.data();
  auto& round = finish_.round;
  round.end_group = 1;
  round.probes = options.probes;
  round.has_base = options.probes > 0;
  round.has_loss = round.has_base;
  round.rounding = 2.220446049250313e-16;
  round.statistic = options.statistic;
  round.distance = options.radius;
  round.lgi_eps = options.lgi_eps;
  round.cap = options.cap;
  update_.segments = {{w_.data(), m_.data(), v_.data(), gradient_.data(),
                       static_cast<std::int64_t>(w_.size()), &parameter_.coefficients}};
  update_.skip = &numbers_.skip;
}

void Walk::step(const Function& f, const Point& gradient) {
  const auto& kernels = kernels::cpu_kernels();
  kernels.start_step({finish_.state, {}});
  gradient_ = gradient;  // as long as before, so it stays where the update looks
  if (options_.probes > 0) loss_ = f(w_);
  for (std::size_t i = 0; i < probed_.size(); ++i)
    probed_[i] = f(directions_.from(w_, options_.radius, numbers_.steps, static_cast<std::uint32_t>(i)));
  kernels.finish_step(finish_);
  kernels.of_double.adam_update(update_);
}

}  // namespace sadam::lab
