#include "lab/walk.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/lgi.h"
#include "lab/landscape.h"

namespace sadam::lab {

template <class T>
Directional<T>::Directional(const std::vector<std::size_t>& tensors, std::uint64_t seed,
                            kernels::Distribution distribution)
    : moved_(std::accumulate(tensors.begin(), tensors.end(), std::size_t{0})),
      inverse_(tensors.size(), 1 / std::sqrt(static_cast<double>(moved_.size()))) {
  length_.direction = perturb_.direction = dot_.direction = {seed, &step_, 0};
  perturb_.distribution = dot_.distribution = distribution;
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < tensors.size(); first += tensors[i++]) {
    const auto count = static_cast<std::int64_t>(tensors[i]);
    if (distribution == kernels::Distribution::normal)
      length_.segments.push_back({first, tensors[i], &inverse_[i]});
    perturb_.segments.push_back({moved_.data() + first, nullptr, count, first, &inverse_[i]});
    dot_.segments.push_back({nullptr, count, first, &inverse_[i]});
  }
}

template <class T>
const std::vector<T>& Directional<T>::from(const std::vector<T>& x, double radius, std::int64_t step,
                                           std::uint32_t probe) {
  step_ = step;
  length_.direction.probe = perturb_.direction.probe = dot_.direction.probe = probe;
  perturb_.scale = radius;
  for (auto& segment : perturb_.segments) segment.base = x.data() + segment.first;
  const auto& kernels = kernels::cpu_kernels();
  if (!length_.segments.empty()) kernels.inverse_lengths(length_);
  kernels.of<T>().perturb(perturb_);
  return moved_;
}

template <class T>
double Directional<T>::slope(const std::vector<T>& gradient) {
  double slope = 0;
  dot_.out = &slope;
  for (auto& segment : dot_.segments) segment.gradient = gradient.data() + segment.first;
  kernels::cpu_kernels().of<T>().dot(dot_);
  return slope;
}

template class Directional<float>;
template class Directional<double>;

std::vector<double> differences(const Function& f, const Point& x, double radius, std::int64_t probes,
                                std::uint64_t seed, std::int64_t step) {
  Directional<double> directions({x.size()}, seed);
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
      directions_({w_.size()}, options.seed),
      probed_(static_cast<std::size_t>(options.probes)),
      slopes_(probed_.size(), 0) {
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
  round.statistic = Statistic::variance;
  round.distance = kPaperRadius;
  round.lgi_eps = kPaperLgiEps;
  round.cap = 10;
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
    probed_[i] = f(directions_.from(w_, kPaperRadius, numbers_.steps, static_cast<std::uint32_t>(i)));
  kernels.finish_step(finish_);
  kernels.of_double.adam_update(update_);
}

Site site_of(const std::string& landscape, std::size_t dimensions, bool at_minimiser) {
  auto f = make_landscape(landscape, dimensions);
  auto at = at_minimiser ? *f.minimiser : f.start;
  return {fmt::format("{}, {}", landscape, at_minimiser ? "minimiser" : "start"),
          [f = std::move(f)](const Point& x) { return f.value(x); }, std::move(at)};
}

Population look_around(const Site& site, std::size_t directions, std::uint64_t seed,
                       const LongWork& options) {
  constexpr std::uint32_t kAtOnce = 1000;
  Directional<double> walk({site.at.size()}, seed);
  const double base = site.f(site.at);
  Population all;
  for (std::size_t i = 0; i < directions; ++i) {
    if (i % kAtOnce == 0) options.check_stop();
    const auto& there = walk.from(site.at, kPaperRadius, static_cast<std::int64_t>(i / kAtOnce),
                                  static_cast<std::uint32_t>(i % kAtOnce));
    const double d = (site.f(there) - base) / kPaperRadius;
    all.mean += d / static_cast<double>(directions);
    all.mean_square += d * d / static_cast<double>(directions);
    all.largest = std::max(all.largest, std::fabs(d));
  }
  return all;
}

Estimate population_lgi(const Site& site, std::size_t directions, const LongWork& options, double eps) {
  constexpr std::size_t kParts = 8;
  std::vector<double> values;
  for (std::size_t i = 0; i < kParts; ++i)
    values.push_back(look_around(site, directions / kParts, options.seed + 1000 + i, options).lgi(eps));
  return mean_of(values);
}

std::vector<double> sampled_lgi(const Site& site, std::int64_t k, std::size_t trials, const LongWork& options,
                                double eps) {
  std::vector<double> values;
  for (std::size_t i = 0; i < trials; ++i) {
    options.check_stop();
    const auto d =
        differences(site.f, site.at, kPaperRadius, k, options.seed + 77, static_cast<std::int64_t>(i));
    values.push_back(kernels::lgi_of(Statistic::variance, {d.data(), nullptr, k}, eps));
  }
  return values;
}

}  // namespace sadam::lab
