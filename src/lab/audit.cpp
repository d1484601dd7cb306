#include "lab/audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/quantities.h"
#include "base/ranks.h"
#include "base/usage_error.h"
#include "kernels/kernels.h"
#include "lab/site.h"
#include "step/option_names.h"

namespace sadam::lab {
namespace {

constexpr double kZ95 = 1.959964;
constexpr std::int64_t kAuditProbes = 8;
constexpr double kAdamEps = 1e-8;
constexpr std::size_t kLeastPoints = 5;        // of either kind, for an area
constexpr std::size_t kManyWeights = 100'000;  // from here on one radius only

// ---- looking ----------------------------------------------------------------------------------------------

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
            {directions.value, statistic.value, directions.value == Directions::step ? 1 : kAuditProbes});
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

// ---- areas ------------------------------------------------------------------------------------------------

Estimate area_under_roc(std::span<const double> kinked, std::span<const double> smooth) {
  std::vector<double> all(kinked.begin(), kinked.end());
  all.insert(all.end(), smooth.begin(), smooth.end());
  const auto ranks = base::ranks_of(all);
  const auto m = static_cast<double>(kinked.size());
  const auto n = static_cast<double>(smooth.size());
  const double sum =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(kinked.size()), 0.0);
  const double area = (sum - m * (m + 1) / 2) / (m * n);
  // At 0 and 1 their formula knows no doubt; half a point wrong gives some.
  const double margin = 0.5 / std::min(m, n);
  const double a = std::clamp(area, margin, 1 - margin);
  const double q1 = a / (2 - a);
  const double q2 = 2 * a * a / (1 + a);
  const double variance = (a * (1 - a) + (m - 1) * (q1 - a * a) + (n - 1) * (q2 - a * a)) / (m * n);
  const double half = kZ95 * std::sqrt(std::max(variance, 0.0));
  return {area, std::max(0.0, area - half), std::min(1.0, area + half)};
}

Estimate mean_area(std::span<const Estimate> areas) {
  const auto n = static_cast<double>(areas.size());
  double sum = 0;
  double squares = 0;
  for (const auto& each : areas) {
    sum += each.value;
    // The side that 0 or 1 did not cut off.
    const double half = std::max(each.value - each.low, each.high - each.value);
    squares += half * half;
  }
  const double half = std::sqrt(squares) / n;
  return {sum / n, std::max(0.0, sum / n - half), std::min(1.0, sum / n + half)};
}

std::string to_string(Dependence::On on) {
  return on == Dependence::On::loss_scale      ? "loss scale"
         : on == Dependence::On::learning_rate ? "learning rate"
                                               : "float32";
}

// ---- the audit --------------------------------------------------------------------------------------------

namespace {

/// ρ of one estimator at points of both kinds.
struct Scores {
  std::vector<double> kinked;
  std::vector<double> smooth;
};

double plain_mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Auditor {
 public:
  explicit Auditor(const AuditOptions& options)
      : options_(options), dimensions_(options.dimensions), radii_(options.radii) {
    if (dimensions_.empty()) {
      dimensions_ = {2, 100, 10'000};
      if (!options.quick) dimensions_.push_back(1'000'000);
    }
    if (radii_.empty()) radii_ = {1e-4, 1e-3, 1e-2, 1e-1, 1};
    check();
    audit_.radius = *std::min_element(radii_.begin(), radii_.end(), [](double a, double b) {
      return std::fabs(std::log(a / kPaperRadius)) < std::fabs(std::log(b / kPaperRadius));
    });
    for (const auto& each : audited_estimators()) {
      estimators_.push_back(each);
      if (each.directions != Directions::step)  // the paper's k, of the same probes
        estimators_.push_back({each.directions, each.statistic, 2});
    }
  }

  Audit run() {
    for (const auto dimension : dimensions_)
      for (const bool networks : {false, true})
        for (const auto& family : networks ? network_families(dimension) : landscape_families(dimension))
          separate(family, networks);
    depend();
    return std::move(audit_);
  }

 private:
  void check() const {
    double last = 0;
    for (const double radius : radii_) {
      if (!(radius > 0) || !std::isfinite(radius))
        throw UsageError(fmt::format("a radius of {} probes nothing: give radii above 0.", radius));
      if (radius <= last)
        throw UsageError(fmt::format(
            "radii must ascend, and {} comes behind {}: sort them, and give each once.", radius, last));
      last = radius;
    }
    for (const auto dimension : dimensions_) {
      if (dimension < 2)
        throw UsageError(fmt::format("a landscape has 2 dimensions or more, and not {}.", dimension));
      // The point, its twin's, the gradient, what is moved, what is rounded, in double, twice.
      constexpr double kBytes = 10 * sizeof(double);
      const double room =
          static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
      const double need = kBytes * static_cast<double>(dimension);
      if (need > 0.8 * room)
        throw UsageError(
            fmt::format("{} dimensions need {:.0f} GB of memory and this machine has {:.0f}: "
                        "give fewer with --dimensions.",
                        dimension, std::ceil(need / 1e9), room / 1e9));
    }
  }

  void check_stop() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) throw AuditStopped{};
  }
  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }
  std::size_t points_for(std::size_t dimension) const {
    if (dimension > kManyWeights) return options_.quick ? kLeastPoints + 1 : 8;
    if (dimension > 1000) return options_.quick ? 12 : 60;
    return options_.quick ? 40 : 200;
  }

  /// ρ and truth of every estimator at one point.
  void score(const Terrain& terrain, const Point& at, double radius, std::uint64_t seed,
             std::vector<Scores>& all) const {
    check_stop();
    for (const auto& directions : names_of(Directions{})) {
      const auto look = look_from(
          terrain, at, {directions.value, radius, lr_as_long_as(radius, at.size()), kAuditProbes, seed, 1});
      for (std::size_t i = 0; i < estimators_.size(); ++i) {
        if (estimators_[i].directions != directions.value) continue;
        auto& to = is_kinked(terrain, at, look, estimators_[i].probes) ? all[i].kinked : all[i].smooth;
        to.push_back(lgi_of(estimators_[i], look));
      }
    }
  }

  void separate(const TerrainFamily& family, bool is_network) {
    const auto points = points_for(family.dimension);
    for (const double radius : radii_) {
      if (family.dimension > kManyWeights && radius != audit_.radius) continue;
      say(fmt::format("{}, {} dimensions, radius {}", family.name, family.dimension, radius));
      std::mt19937_64 generator(options_.seed);
      std::vector<Scores> away(estimators_.size());
      for (std::size_t i = 0; i < points; ++i)
        if (const auto spot = family.spot(Nearness::away, radius, generator))
          score(*spot->terrain, spot->at, radius, generator(), away);
        else
          break;  // at this radius everything is near a kink
      for (const auto nearness : {Nearness::one, Nearness::corner}) {
        auto all = away;
        for (std::size_t i = 0; i < points; ++i) {
          const auto spot = family.spot(nearness, radius, generator);
          if (!spot) break;
          const auto seed = generator();
          score(*spot->terrain, spot->at, radius, seed, all);
          score(*spot->twin, spot->at, radius, seed, all);
        }
        if (is_network && nearness == Nearness::corner) continue;
        for (std::size_t i = 0; i < estimators_.size(); ++i)
          note(estimators_[i], family, is_network, radius, nearness, all[i]);
      }
    }
  }

  void note(const Estimator& estimator, const TerrainFamily& family, bool is_network, double radius,
            Nearness nearness, const Scores& scores) {
    if (std::min(scores.kinked.size(), scores.smooth.size()) < kLeastPoints) return;
    audit_.separations.push_back({estimator, is_network, family.name, family.dimension, radius, nearness,
                                  scores.kinked.size(), scores.smooth.size(), plain_mean(scores.kinked),
                                  plain_mean(scores.smooth), area_under_roc(scores.kinked, scores.smooth)});
  }

  /// Points of every kind, on small functions.
  std::vector<Spotted> sites(bool networks, std::size_t each, double radius,
                             std::mt19937_64& generator) const {
    constexpr std::size_t kSmall = 100;
    std::vector<Spotted> all;
    for (const auto& family : networks ? network_families(kSmall) : landscape_families(2))
      for (std::size_t i = 0; i < each; ++i)
        if (const auto spot = family.spot(i % 2 == 0 ? Nearness::away : Nearness::one, radius, generator))
          all.push_back(*spot);
    return all;
  }

  template <class LookAt>
  void compare(Dependence::On on, const std::vector<double>& values, double reference,
               const std::vector<Spotted>& spots, const LookAt& look_at) {
    for (const auto& estimator : estimators_) {
      check_stop();
      std::vector<double> base;
      for (const auto& spot : spots) base.push_back(lgi_of(estimator, look_at(estimator, spot, reference)));
      for (const double value : values) {
        std::vector<double> here, apart;
        for (std::size_t i = 0; i < spots.size(); ++i) {
          here.push_back(lgi_of(estimator, look_at(estimator, spots[i], value)));
          apart.push_back(std::fabs(here.back() - base[i]));
        }
        audit_.dependences.push_back({estimator, on, value, plain_mean(here), plain_mean(apart)});
      }
    }
  }

  void depend() {
    const std::size_t each = options_.quick ? 6 : 40;
    std::mt19937_64 generator(options_.seed + 1);
    const double radius = audit_.radius;
    auto spots = sites(false, each, radius, generator);
    for (auto& spot : sites(true, each, radius, generator)) spots.push_back(std::move(spot));
    const auto aim = [&](const Estimator& estimator, const Spotted& spot) {
      return Aim{estimator.directions, radius,        lr_as_long_as(radius, spot.at.size()),
                 kAuditProbes,         options_.seed, 1};
    };
    say("gradient size");
    compare(Dependence::On::loss_scale, {1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3}, 1, spots,
            [&](const Estimator& estimator, const Spotted& spot, double scale) {
              auto at = aim(estimator, spot);
              at.scale = scale;
              return look_from(*spot.terrain, spot.at, at);
            });
    say("learning rate");
    compare(Dependence::On::learning_rate, {1e-4, 1e-3, 1e-2}, 1e-4, spots,
            [&](const Estimator& estimator, const Spotted& spot, double lr) {
              auto at = aim(estimator, spot);
              at.lr = lr;
              return look_from(*spot.terrain, spot.at, at);
            });
    say("rounding");
    for (const double each_radius : radii_) {
      const auto nets = sites(true, each, each_radius, generator);
      // The reference, 0, is float64.
      compare(Dependence::On::rounding, {each_radius}, 0, nets,
              [&](const Estimator& estimator, const Spotted& spot, double in_float) {
                auto at = aim(estimator, spot);
                at.radius = each_radius;
                at.lr = lr_as_long_as(each_radius, spot.at.size());
                auto rounded_at = spot.at;  // so that both begin at one point
                for (auto& one : rounded_at) one = static_cast<double>(static_cast<float>(one));
                return look_from(*spot.terrain, rounded_at, at, in_float > 0);
              });
    }
  }

  const AuditOptions& options_;
  std::vector<std::size_t> dimensions_;
  std::vector<double> radii_;
  std::vector<Estimator> estimators_;
  Audit audit_;
};

/// The mean area over what `is_wanted` of an estimator's separations; nothing if there are none.
template <class IsWanted>
std::optional<Estimate> mean_where(const Audit& audit, const Estimator& estimator,
                                   const IsWanted& is_wanted) {
  std::vector<Estimate> areas;
  for (const auto& each : audit.separations)
    if (each.estimator == estimator && is_wanted(each)) areas.push_back(each.area);
  return areas.empty() ? std::nullopt : std::optional<Estimate>(mean_area(areas));
}

}  // namespace

Audit run_audit(const AuditOptions& options) { return Auditor(options).run(); }

std::vector<AuditLine> lines_of(const Audit& audit) {
  std::vector<AuditLine> lines;
  for (const auto& estimator : audited_estimators()) {
    AuditLine line;
    line.estimator = estimator;
    const auto on = [&](bool networks) {
      return mean_where(audit, estimator, [&](const Separation& each) {
        return each.is_network == networks && each.radius == audit.radius;
      });
    };
    line.landscapes = on(false);
    line.networks = on(true);
    for (const auto& each : audit.dependences) {
      if (each.estimator != estimator) continue;
      if (each.on == Dependence::On::loss_scale) line.loss_scale = std::max(line.loss_scale, each.change);
      if (each.on == Dependence::On::learning_rate)
        line.learning_rate = std::max(line.learning_rate, each.change);
      if (each.on == Dependence::On::rounding && each.at == audit.radius) line.rounding = each.change;
    }
    lines.push_back(line);
  }
  return lines;
}

// ---- the picture ------------------------------------------------------------------------------------------

namespace {

report::LineStyle style_of(const Estimator& estimator) {
  return {static_cast<std::size_t>(estimator.directions),
          estimator.statistic == Statistic::residual ? report::Stroke::solid : report::Stroke::dashed};
}

report::ChartSeries series_of(const Estimator& estimator) {
  return {fmt::format("{}, {}", to_string(estimator.directions), to_string(estimator.statistic)),
          style_of(estimator),
          {}};
}

/// The mean area at each x of `x_of`.
template <class XOf, class IsWanted>
report::ChartPanel area_panel(const Audit& audit, const std::string& title, const std::string& x_title,
                              const std::vector<Estimator>& estimators, const XOf& x_of,
                              const IsWanted& is_wanted) {
  report::ChartPanel panel{title, x_title, "area under ROC", {}};
  std::vector<double> places;
  for (const auto& each : audit.separations)
    if (is_wanted(each)) places.push_back(x_of(each));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (const auto& estimator : estimators) {
    auto series = series_of(estimator);
    for (const double x : places) {
      const auto area = mean_where(
          audit, estimator, [&](const Separation& each) { return is_wanted(each) && x_of(each) == x; });
      if (area) series.points.push_back({std::log10(x), area->value, std::nullopt});
    }
    panel.series.push_back(std::move(series));
  }
  return panel;
}

}  // namespace

report::LineChart picture_of(const Audit& audit) {
  // The two variances order points alike, so that one curve stands for both.
  auto estimators = audited_estimators();
  std::erase_if(estimators,
                [](const Estimator& each) { return each.statistic == Statistic::unbiased_variance; });
  report::LineChart chart;
  chart.title = "How well ρ tells smooth from non-smooth";
  chart.subtitle =
      "1: always. 0.5: as a coin. Solid: residual. Dashed: variance, and unbiased_variance alike.";
  auto& keys = chart.legend.emplace_back();
  for (const auto& each : estimators)
    keys.push_back({fmt::format("{}, {}", to_string(each.directions), to_string(each.statistic)),
                    style_of(each), report::Ink::line, true});
  const auto radius_of = [](const Separation& each) { return each.radius; };
  for (const bool networks : {false, true})
    chart.panels.push_back(area_panel(audit, networks ? "networks" : "landscapes", "log₁₀ of the radius",
                                      estimators, radius_of, [networks](const Separation& each) {
                                        return each.is_network == networks && each.dimension <= kManyWeights;
                                      }));
  chart.panels.push_back(area_panel(
      audit, fmt::format("all, radius {}", audit.radius), "log₁₀ of the dimension", estimators,
      [](const Separation& each) {
        // Networks have about as many weights as the landscapes have dimensions.
        return std::pow(10.0, std::round(10 * std::log10(static_cast<double>(each.dimension))) / 10);
      },
      [&](const Separation& each) { return each.radius == audit.radius; }));
  report::ChartPanel noise{
      "networks: ρ in float32 against float64", "log₁₀ of the radius", "mean difference", {}};
  for (const auto& estimator : estimators) {
    auto series = series_of(estimator);
    for (const auto& each : audit.dependences)
      if (each.estimator == estimator && each.on == Dependence::On::rounding)
        series.points.push_back({std::log10(each.at), each.change, std::nullopt});
    noise.series.push_back(std::move(series));
  }
  chart.panels.push_back(std::move(noise));
  chart.across = 2;
  return chart;
}

}  // namespace sadam::lab
