#include "lab/look.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"
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

/// The tensors, one after the other, moved by the kernels of the optimizer.
template <class T>
class ProbeMover {
 public:
  ProbeMover(const Terrain& terrain, const std::vector<T>& w, const std::vector<T>& gradient, const Aim& aim)
      : moved_(w.size()) {
    const bool normal = aim.directions != Directions::rademacher;
    const bool apart = aim.directions == Directions::per_tensor;
    const auto sizes = apart ? terrain.tensors : std::vector<std::size_t>{w.size()};
    inverse_.resize(sizes.size(), 1 / std::sqrt(static_cast<double>(w.size())));
    length_.direction = {aim.seed, &step_, 0};
    perturb_.direction = dot_.direction = length_.direction;
    perturb_.distribution = dot_.distribution =
        normal ? kernels::Distribution::normal : kernels::Distribution::rademacher;
    perturb_.scale = aim.radius;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); first += sizes[i++]) {
      const auto count = static_cast<std::int64_t>(sizes[i]);
      if (normal) length_.segments.push_back({first, sizes[i], &inverse_[i]});
      perturb_.segments.push_back({moved_.data() + first, w.data() + first, count, first, &inverse_[i]});
      dot_.segments.push_back({gradient.data() + first, count, first, &inverse_[i]});
    }
    const auto& kernels = kernels::cpu_kernels();
    scratch_.resize(static_cast<std::size_t>(
        std::max(kernels.lengths_scratch(length_), kernels.of<T>().dot_scratch(dot_))));
    length_.scratch = dot_.scratch = scratch_.data();
    dot_.out = &slope_;
  }
  ProbeMover(const ProbeMover&) = delete;
  ProbeMover& operator=(const ProbeMover&) = delete;

  /// w + δu.
  const std::vector<T>& to(std::uint32_t probe) {
    length_.direction.probe = perturb_.direction.probe = dot_.direction.probe = probe;
    const auto& kernels = kernels::cpu_kernels();
    if (!length_.segments.empty()) kernels.inverse_lengths(length_);
    kernels.of<T>().perturb(perturb_);
    slope_ = 0;
    kernels.of<T>().dot(dot_);
    return moved_;
  }
  /// ⟨g, u⟩ of the last one.
  double slope() const { return slope_; }

 private:
  std::int64_t step_ = 0;
  std::vector<T> moved_;
  std::vector<double> inverse_, scratch_;
  double slope_ = 0;
  kernels::InverseLengths length_;
  kernels::Perturb<T> perturb_;
  kernels::Dot<T> dot_;
};

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
  ProbeMover<T> mover(terrain, w, gradient, aim);
  for (std::int64_t i = 0; i < aim.probes; ++i) {
    const auto there = f.see(mover.to(static_cast<std::uint32_t>(i)));
    add(there, aim.radius, mover.slope());
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
