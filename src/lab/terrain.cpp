#include "lab/terrain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sadam::lab {

std::size_t Terrain::size() const { return std::accumulate(tensors.begin(), tensors.end(), std::size_t{0}); }

namespace {

constexpr double kRoundedOff = 0.1;       // how far a twin's kink is rounded off
constexpr std::size_t kMostClosed = 300;  // beyond, the closed form takes too long

double soft_abs(double h) { return std::sqrt(h * h + kRoundedOff * kRoundedOff); }
double soft_sign(double h) { return h / soft_abs(h); }
double hard_sign(double h) { return h > 0 ? 1 : h < 0 ? -1 : 0; }

/// The pieces' values, and e^(value − largest) as shares of their sum.
struct SoftMaximum {
  double value = 0;
  std::vector<double> shares;
};

SoftMaximum soft_maximum(const Landscape& f, const Point& x) {
  SoftMaximum all;
  for (const auto& piece : f.pieces) all.shares.push_back(piece.value(x) / kRoundedOff);
  const double largest = *std::max_element(all.shares.begin(), all.shares.end());
  double total = 0;
  for (auto& each : all.shares) total += each = std::exp(each - largest);
  for (auto& each : all.shares) each /= total;
  all.value = kRoundedOff * (largest + std::log(total));
  return all;
}

double twin_value(const Landscape& f, const Point& x) {
  double total = f.smooth ? f.smooth(x) : 0;
  for (const auto& kink : f.kinks) total += kink.weight * soft_abs(kink.value(x));
  return f.pieces.empty() ? total : total + soft_maximum(f, x).value;
}

Point twin_gradient(const Landscape& f, const Point& x) {
  auto total = f.smooth_gradient ? f.smooth_gradient(x) : Point(x.size(), 0);
  for (const auto& kink : f.kinks)
    total = sum(total, kink.gradient(x), kink.weight * soft_sign(kink.value(x)));
  if (f.pieces.empty()) return total;
  const auto shares = soft_maximum(f, x).shares;
  for (std::size_t i = 0; i < shares.size(); ++i) total = sum(total, f.pieces[i].gradient(x), shares[i]);
  return total;
}

/// |x₁| + |x₂ − x₁| + … with any |·|.
template <class Abs>
double chain_value(const Point& x, const Abs& size_of) {
  double total = size_of(x[0]);
  for (std::size_t i = 1; i < x.size(); ++i) total += size_of(x[i] - x[i - 1]);
  return total;
}

template <class Sign>
Point chain_gradient(const Point& x, const Sign& sign_of) {
  Point slope(x.size(), 0);
  slope[0] = sign_of(x[0]);
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double s = sign_of(x[i] - x[i - 1]);
    slope[i] += s;
    slope[i - 1] -= s;
  }
  return slope;
}

bool chain_has_kink_within(const Point& x, double radius) {
  if (std::fabs(x[0]) <= radius) return true;
  const double reach = radius * std::sqrt(2.0);
  for (std::size_t i = 1; i < x.size(); ++i)
    if (std::fabs(x[i] - x[i - 1]) <= reach) return true;
  return false;
}

bool nowhere(const Point&, double) { return false; }

/// Of two tensors.
template <class Value, class Gradient, class Kinks>
Terrain made_of(std::size_t dimensions, Value value, Gradient gradient, Kinks has_kink_within) {
  return {{dimensions / 2, dimensions - dimensions / 2},
          {[value](const Point& x) {
             return Seen{value(x), 0};
           },
           gradient},
          {},
          has_kink_within};
}

double uniform(double low, double high, std::mt19937_64& generator) {
  return std::uniform_real_distribution<double>(low, high)(generator);
}

Point anywhere(std::size_t dimensions, std::mt19937_64& generator) {
  constexpr double kBox = 2;
  Point x(dimensions);
  for (auto& each : x) each = uniform(-kBox, kBox, generator);
  return x;
}

/// A point from which no kink is reached. Coordinates are drawn one after the other where each has kinks of
/// its own, since a random point in many dimensions is near one almost surely.
std::optional<Point> away_from_kinks(const std::string& name, const Terrain& terrain, double cell,
                                     double radius, std::mt19937_64& generator) {
  constexpr int kTries = 500;
  const double reach = radius * 1.001 * std::sqrt(2.0);  // of the chain's kinks, and of two tensors
  auto x = anywhere(terrain.size(), generator);
  const auto clear = [&](std::size_t i) {
    if (name == "chain") return std::fabs(i == 0 ? x[0] : x[i] - x[i - 1]) > std::sqrt(2.0) * reach;
    if (name == "lasso") return std::fabs(x[i]) > reach;
    const double place = x[i] / cell + 0.5;
    return std::fabs(place - std::nearbyint(place)) * cell > reach;
  };
  if (name == "chain" || name == "lasso" || cell > 0) {
    for (std::size_t i = 0; i < x.size(); ++i)
      for (int tries = 0; !clear(i); ++tries) {
        if (tries == kTries) return std::nullopt;
        x[i] = anywhere(1, generator)[0];
      }
    return x;
  }
  for (int tries = 0; terrain.has_kink_within(x, reach); ++tries) {
    if (tries == kTries) return std::nullopt;
    x = anywhere(terrain.size(), generator);
  }
  return x;
}

/// A point with one kink, chosen at random, within the radius.
Point beside_a_kink(const Landscape& f, double radius, std::mt19937_64& generator) {
  constexpr int kTries = 100;
  for (int tries = 0;; ++tries) {
    auto x = anywhere(f.start.size(), generator);
    const double off = uniform(-radius, radius, generator);
    if (f.cell > 0) {
      auto& one = x[generator() % x.size()];
      one = f.cell * (std::floor(one / f.cell) + 0.5) + off;
    } else {
      Term kink;
      if (!f.kinks.empty()) {
        kink = f.kinks[generator() % f.kinks.size()];
      } else {  // where the largest piece meets another
        std::size_t top = 0;
        for (std::size_t i = 1; i < f.pieces.size(); ++i)
          if (f.pieces[i].value(x) > f.pieces[top].value(x)) top = i;
        const auto other = (top + 1 + generator() % (f.pieces.size() - 1)) % f.pieces.size();
        kink.value = [&f, top, other](const Point& y) {
          return f.pieces[top].value(y) - f.pieces[other].value(y);
        };
        kink.gradient = [&f, top, other](const Point& y) {
          return sum(f.pieces[top].gradient(y), f.pieces[other].gradient(y), -1);
        };
      }
      for (int newton = 0; newton < 20; ++newton) {
        const auto slope = kink.gradient(x);
        x = sum(x, slope, -kink.value(x) / dot(slope, slope));
      }
      const auto slope = kink.gradient(x);
      x = sum(x, slope, off / norm(slope));
    }
    if (tries == kTries || f.has_kink_within(x, radius)) return x;
  }
}

/// Within about radius/√d of every kink: where they meet, and a little beside it.
Point beside_all_kinks(const std::string& name, std::size_t dimensions, double cell, double radius,
                       std::mt19937_64& generator) {
  const double centre = cell > 0 ? 0.5 * cell : name == "kinks" || name == "valley" ? 1 : 0;
  const double off = radius / std::sqrt(static_cast<double>(dimensions));
  Point x(dimensions, centre);
  for (auto& each : x) each += uniform(-off, off, generator);
  return x;
}

using DrawBesideOne = std::function<Point(double radius, std::mt19937_64&)>;

TerrainFamily family_of(const std::string& name, const Terrain& hard, const Terrain& soft, double cell,
                        const DrawBesideOne& beside_one) {
  const auto terrain = std::make_shared<const Terrain>(hard);
  const auto twin = std::make_shared<const Terrain>(soft);
  const auto d = terrain->size();
  return {name, d,
          [=](Nearness nearness, double radius, std::mt19937_64& generator) -> std::optional<Spotted> {
            if (nearness == Nearness::one) return Spotted{terrain, twin, beside_one(radius, generator)};
            if (nearness == Nearness::corner)
              return Spotted{terrain, twin, beside_all_kinks(name, d, cell, radius, generator)};
            const auto x = away_from_kinks(name, *terrain, cell, radius, generator);
            return x ? std::optional<Spotted>({terrain, twin, *x}) : std::nullopt;
          }};
}

TerrainFamily landscape_family(const std::string& name, std::size_t dimensions) {
  const auto f = std::make_shared<const Landscape>(make_landscape(name, dimensions));
  return family_of(name, terrain_of(f), twin_of(f), f->cell, [f](double radius, std::mt19937_64& generator) {
    return beside_a_kink(*f, radius, generator);
  });
}

TerrainFamily chain_family(std::size_t dimensions) {
  const auto chain = long_chain(dimensions);
  const auto beside_one = [=](double radius, std::mt19937_64& generator) {
    auto x = away_from_kinks("chain", chain, 0, radius, generator);
    if (!x) x = anywhere(dimensions, generator);
    const auto i = generator() % dimensions;
    const double off = uniform(-radius, radius, generator);
    (*x)[i] = i == 0 ? off : (*x)[i - 1] + std::sqrt(2.0) * off;
    return *x;
  };
  return family_of("chain", chain, long_chain_twin(dimensions), 0, beside_one);
}

}  // namespace

Terrain terrain_of(std::shared_ptr<const Landscape> f) {
  return made_of(
      f->start.size(), [f](const Point& x) { return f->value(x); },
      [f](const Point& x) { return f->gradient(x); },
      [f](const Point& x, double radius) { return f->has_kink_within(x, radius); });
}

Terrain twin_of(std::shared_ptr<const Landscape> f) {
  return made_of(
      f->start.size(), [f](const Point& x) { return twin_value(*f, x); },
      [f](const Point& x) { return twin_gradient(*f, x); }, nowhere);
}

Terrain long_chain(std::size_t dimensions) {
  return made_of(
      dimensions, [](const Point& x) { return chain_value(x, [](double h) { return std::fabs(h); }); },
      [](const Point& x) { return chain_gradient(x, hard_sign); }, chain_has_kink_within);
}

Terrain long_chain_twin(std::size_t dimensions) {
  return made_of(
      dimensions, [](const Point& x) { return chain_value(x, soft_abs); },
      [](const Point& x) { return chain_gradient(x, soft_sign); }, nowhere);
}

std::vector<TerrainFamily> landscape_families(std::size_t dimensions) {
  std::vector<TerrainFamily> families;
  if (dimensions == 2)
    for (const auto* name : {"kinks", "valley"}) families.push_back(landscape_family(name, 2));
  if (dimensions <= kMostClosed)
    for (const auto* name : {"lasso", "max_affine", "staircase"})
      families.push_back(landscape_family(name, dimensions));
  families.push_back(chain_family(dimensions));
  return families;
}

}  // namespace sadam::lab
