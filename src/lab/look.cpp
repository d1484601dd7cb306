#include "lab/look.h"

#include <algorithm>
#include <cmath>

#include "step/option_names.h"

namespace sadam::lab {
namespace {

constexpr double kAdamEps = 1e-8;

template <class T>
const Evaluation<T>& evaluation_of(const Terrain& terrain) {
  if constexpr (sizeof(T) == sizeof(float))
    return terrain.in_float;
  else
    return terrain.in_double;
}

template <class T>
Look look_in(const Terrain& terrain, const Point& at, const Aim& aim) {
  const std::vector<T> w(at.begin(), at.end());
  const auto& f = evaluation_of<T>(terrain);
  const auto base = f.see(w);
  auto gradient = f.gradient(w);
  for (auto& each : gradient) each *= static_cast<T>(aim.scale);
  Look look;
  const auto add = [&](const Seen& there, double distance, double slope) {
    look.differences.push_back((there.loss - base.loss) * aim.scale / distance);
    look.slopes.push_back(slope);
    look.crossed.push_back(there.piece != base.piece);
  };
  if (aim.directions == Directions::step) {
    auto moved = w;
    double slope = 0;
    double squared = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = gradient[i];
      const double step = -aim.lr * g / (std::fabs(g) + kAdamEps);
      moved[i] += static_cast<T>(step);
      slope += g * step;
      squared += step * step;
    }
    look.length = std::sqrt(squared);
    add(f.see(moved), 1, slope);
    return look;
  }
  look.length = aim.radius;
  if (aim.directions == Directions::per_tensor)
    look.length *= std::sqrt(static_cast<double>(terrain.tensors.size()));
  const bool apart = aim.directions == Directions::per_tensor;
  Directional<T> directions(apart ? terrain.tensors : std::vector{w.size()}, aim.seed,
                            aim.directions == Directions::rademacher ? kernels::Distribution::rademacher
                                                                     : kernels::Distribution::normal);
  for (std::int64_t i = 0; i < aim.probes; ++i) {
    const auto there = f.see(directions.from(w, aim.radius, 0, static_cast<std::uint32_t>(i)));
    add(there, aim.radius, directions.slope(gradient));
  }
  return look;
}

}  // namespace

std::vector<Estimator> audited_estimators() {
  std::vector<Estimator> all;
  for (const auto& directions : names_of(Directions{}))
    for (const auto& statistic : names_of(Statistic{}))
      if (go_together(directions.value, statistic.value))
        all.push_back(
            {directions.value, statistic.value, directions.value == Directions::step ? 1 : kAuditedProbes});
  return all;
}

double lr_as_long_as(double radius, std::size_t dimensions) {
  return radius / std::sqrt(static_cast<double>(dimensions));
}

Look look_from(const Terrain& terrain, const Point& at, const Aim& aim, bool in_float) {
  return in_float ? look_in<float>(terrain, at, aim) : look_in<double>(terrain, at, aim);
}

double lgi_of(const Estimator& estimator, const Look& look) {
  if (estimator.directions == Directions::step)
    return step_lgi(look.differences.front(), look.slopes.front());
  const auto first = [&](const std::vector<double>& all) {
    return std::vector<double>(all.begin(), all.begin() + estimator.probes);
  };
  return lgi(estimator.statistic, first(look.differences), first(look.slopes), kPaperLgiEps);
}

bool is_kinked(const Terrain& terrain, const Point& at, const Look& look, std::int64_t probes) {
  if (terrain.has_kink_within) return terrain.has_kink_within(at, look.length);
  return std::any_of(look.crossed.begin(), look.crossed.begin() + probes, [](bool each) { return each; });
}

}  // namespace sadam::lab
