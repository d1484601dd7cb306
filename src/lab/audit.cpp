#include "lab/audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/statistics.h"
#include "base/usage_error.h"
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
  const double half = base::kZ95 * std::sqrt(std::max(variance, 0.0));
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
  constexpr std::array kNames = {"loss scale", "slope", "learning rate", "float32"};  // in its order
  return kNames.at(static_cast<std::size_t>(on));
}

// ---- the audit --------------------------------------------------------------------------------------------

namespace {

/// The function and a linear one, so many times as steep as it is here, in a direction of its own.
Terrain tilted(const Terrain& terrain, const Point& at, double times) {
  auto slope = Point(at.size());
  for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = std::sin(1 + static_cast<double>(i));
  const double length = times * norm(terrain.in_double.gradient(at)) / norm(slope);
  for (auto& each : slope) each *= length;
  auto result = terrain;
  result.in_double.see = [f = terrain.in_double.see, slope](const Point& x) {
    auto seen = f(x);
    seen.loss += dot(slope, x);
    return seen;
  };
  result.in_double.gradient = [f = terrain.in_double.gradient, slope](const Point& x) {
    return sum(f(x), slope);
  };
  return result;
}

constexpr std::size_t kLeastPoints = 5;  // of either kind, for an area

/// ρ of one estimator at points of both kinds.
struct Scores {
  std::vector<double> kinked;
  std::vector<double> away;
  std::vector<double> twins;
};

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

  std::size_t points_for(std::size_t dimension) const {
    if (dimension > kMostOverRadii) return options_.quick ? kLeastPoints + 1 : 20;
    if (dimension > 1000) return options_.quick ? 20 : 150;
    return options_.quick ? 50 : 400;
  }

  /// ρ and truth of every estimator at one point.
  void score(const Terrain& terrain, const Point& at, const Aim& aim, bool in_float, bool is_twin,
             std::vector<Scores>& all) const {
    options_.check_stop();
    for (const auto& directions : names_of(Directions{})) {
      auto here = aim;
      here.directions = directions.value;
      const auto look = look_from(terrain, at, here, in_float);
      for (std::size_t i = 0; i < estimators_.size(); ++i) {
        if (estimators_[i].directions != directions.value) continue;
        auto& to = is_kinked(terrain, at, look, estimators_[i].probes) ? all[i].kinked
                   : is_twin                                           ? all[i].twins
                                                                       : all[i].away;
        to.push_back(lgi_of(estimators_[i], look));
      }
    }
  }

  void separate(const TerrainFamily& family, bool is_network) {
    for (const double radius : radii_) {
      if (family.dimension > kMostOverRadii && radius != audit_.radius) continue;
      options_.say(fmt::format("{}, {} dimensions, radius {}", family.name, family.dimension, radius));
      ++groups_;
      separate(family, is_network, false, radius);
      if (is_network) separate(family, is_network, true, radius);
    }
  }

  void separate(const TerrainFamily& family, bool is_network, bool in_float, double radius) {
    const auto points = points_for(family.dimension);
    std::mt19937_64 generator(options_.seed * 1'000'003 + groups_);  // the same points in both precisions
    const auto aim = [&] {
      return Aim{Directions::sphere, radius,      lr_as_long_as(radius, family.dimension),
                 kAuditedProbes,     generator(), 1};
    };
    std::vector<Scores> away(estimators_.size());
    for (std::size_t i = 0; i < points; ++i) {
      const auto spot = family.spot(Nearness::away, radius, generator);
      if (!spot) break;  // at this radius everything is near a kink
      score(*spot->terrain, spot->at, aim(), in_float, false, away);
    }
    for (const auto nearness : {Nearness::one, Nearness::corner}) {
      if (is_network && nearness == Nearness::corner) continue;
      auto all = away;
      for (std::size_t i = 0; i < points; ++i) {
        const auto spot = family.spot(nearness, radius, generator);
        if (!spot) break;
        const auto once = aim();
        score(*spot->terrain, spot->at, once, in_float, false, all);
        score(*spot->twin, spot->at, once, in_float, true, all);
      }
      for (std::size_t i = 0; i < estimators_.size(); ++i) {
        const auto& kinked = all[i].kinked;
        auto smooth = all[i].away;
        smooth.insert(smooth.end(), all[i].twins.begin(), all[i].twins.end());
        if (std::min(kinked.size(), smooth.size()) < kLeastPoints) continue;
        const auto against = [&](const std::vector<double>& some) {
          return some.size() < kLeastPoints ? std::nullopt
                                            : std::optional<double>(area_under_roc(kinked, some).value);
        };
        audit_.separations.push_back({estimators_[i], is_network, in_float, family.name, family.dimension,
                                      radius, nearness, kinked.size(), smooth.size(), base::mean(kinked),
                                      base::mean(smooth), area_under_roc(kinked, smooth),
                                      against(all[i].away), against(all[i].twins)});
      }
    }
  }

  /// As many points of every family, half of them beside a kink.
  static std::vector<Spotted> sites(const std::vector<TerrainFamily>& families, std::size_t each,
                                    double radius, std::mt19937_64& generator) {
    std::vector<Spotted> all;
    for (const auto& family : families)
      for (std::size_t i = 0; i < each; ++i)
        if (const auto spot = family.spot(i % 2 == 0 ? Nearness::away : Nearness::one, radius, generator))
          all.push_back(*spot);
    return all;
  }

  /// ρ at these points for every value, and how far it is from ρ at the reference.
  using LookWith = std::function<Look(const Spotted&, const Aim&, double value)>;
  void compare(Dependence::On on, std::size_t dimension, double radius, const std::vector<double>& values,
               double reference, const std::vector<Spotted>& spots, const LookWith& look_with) {
    for (const auto& estimator : estimators_) {
      const auto lgi_at = [&](std::size_t i, double value) {
        options_.check_stop();
        const auto& spot = spots[i];
        return lgi_of(estimator,
                      look_with(spot,
                                {estimator.directions, radius, lr_as_long_as(radius, spot.at.size()),
                                 kAuditedProbes, options_.seed + i, 1},
                                value));
      };
      std::vector<double> base;
      for (std::size_t i = 0; i < spots.size(); ++i) base.push_back(lgi_at(i, reference));
      for (const double value : values) {
        std::vector<double> here, apart;
        for (std::size_t i = 0; i < spots.size(); ++i) {
          here.push_back(lgi_at(i, value));
          apart.push_back(std::fabs(here.back() - base[i]));
        }
        audit_.dependences.push_back({estimator, on, dimension, value, base::mean(here), base::mean(apart)});
      }
    }
  }

  void depend() {
    const std::size_t each = options_.quick ? 6 : 40;
    std::mt19937_64 generator(options_.seed + 1);
    const double radius = audit_.radius;
    constexpr std::size_t kSmallNet = 100;
    auto families = landscape_families(2);
    std::vector<Spotted> kinked;
    for (const auto& family : families)
      for (std::size_t i = 0; i < each; ++i) kinked.push_back(*family.spot(Nearness::one, radius, generator));
    for (auto& family : network_families(kSmallNet)) families.push_back(std::move(family));
    const auto spots = sites(families, each, radius, generator);
    options_.say("gradient size");
    compare(Dependence::On::loss_scale, 0, radius, {1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3}, 1, spots,
            [](const Spotted& spot, Aim aim, double scale) {
              aim.scale = scale;
              return look_from(*spot.terrain, spot.at, aim);
            });
    compare(Dependence::On::slope, 0, radius, {0, 1, 10, 100}, 0, kinked,
            [](const Spotted& spot, const Aim& aim, double times) {
              return look_from(tilted(*spot.terrain, spot.at, times), spot.at, aim);
            });
    options_.say("learning rate");
    compare(Dependence::On::learning_rate, 0, radius, {1e-4, 1e-3, 1e-2}, 1e-4, spots,
            [](const Spotted& spot, Aim aim, double lr) {
              aim.lr = lr;
              return look_from(*spot.terrain, spot.at, aim);
            });
    for (const auto dimension : dimensions_) {
      if (dimension > kMostOverRadii) continue;
      options_.say(fmt::format("rounding, {} dimensions", dimension));
      for (const double each_radius : radii_) {
        const auto nets =
            sites(network_families(dimension), dimension > 1000 ? 6 : each, each_radius, generator);
        if (nets.empty()) continue;
        // The reference, 0, is float64.
        compare(Dependence::On::rounding, dimension, each_radius, {each_radius}, 0, nets,
                [](const Spotted& spot, const Aim& aim, double in_float) {
                  auto at = spot.at;  // as float32 holds it, so that both begin at one point
                  for (auto& one : at) one = static_cast<double>(static_cast<float>(one));
                  return look_from(*spot.terrain, at, aim, in_float > 0);
                });
      }
    }
  }

  const AuditOptions& options_;
  std::vector<std::size_t> dimensions_;
  std::vector<double> radii_;
  std::vector<Estimator> estimators_;
  std::uint64_t groups_ = 0;
  Audit audit_;
};

}  // namespace

std::optional<Estimate> mean_where(const Audit& audit, const Estimator& estimator,
                                   const std::function<bool(const Separation&)>& is_wanted) {
  std::vector<Estimate> areas;
  for (const auto& each : audit.separations)
    if (each.estimator == estimator && is_wanted(each)) areas.push_back(each.area);
  return areas.empty() ? std::nullopt : std::optional<Estimate>(mean_area(areas));
}

Audit run_audit(const AuditOptions& options) { return Auditor(options).run(); }

std::vector<AuditLine> lines_of(const Audit& audit) {
  std::vector<AuditLine> lines;
  for (const auto& estimator : audited_estimators()) {
    AuditLine line;
    line.estimator = estimator;
    const auto on = [&](bool networks, bool in_float) {
      return mean_where(audit, estimator, [&](const Separation& each) {
        return each.is_network == networks && each.in_float == in_float && each.radius == audit.radius;
      });
    };
    line.landscapes = on(false, false);
    line.networks = on(true, false);
    line.in_float = on(true, true);
    for (const auto& each : audit.dependences) {
      if (each.estimator != estimator) continue;
      if (each.on == Dependence::On::loss_scale) line.loss_scale = std::max(line.loss_scale, each.change);
      if (each.on == Dependence::On::learning_rate)
        line.learning_rate = std::max(line.learning_rate, each.change);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace sadam::lab
