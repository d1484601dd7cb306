// What probes see of a function: how many are needed, curvature, the diameter of Clarke's set.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/lgi.h"
#include "lab/landscape.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

// The paper's hyperparameters.
constexpr double kEpsOfLgi = 1e-6;
constexpr double kDelta = 0.01;

/// A function, and a point to look at it from.
struct Site {
  std::string name;
  Function f;
  Point at;
};

Site site_of(const std::string& landscape, std::size_t dimensions, bool at_minimiser) {
  auto f = make_landscape(landscape, dimensions);
  auto at = at_minimiser ? *f.minimiser : f.start;
  return {fmt::format("{}, {}", landscape, at_minimiser ? "minimiser" : "start"),
          [f = std::move(f)](const Point& x) { return f.value(x); }, std::move(at)};
}

/// What k → ∞ probes see: mean, mean square and largest size of D over many directions.
struct Population {
  double mean = 0;
  double mean_square = 0;
  double largest = 0;

  double variance() const { return std::max(0.0, mean_square - mean * mean); }
  double lgi(double eps) const { return variance() / (mean_square + eps); }
};

Population look_around(const Site& site, std::size_t directions, std::uint64_t seed,
                       const TheoryOptions& options) {
  constexpr std::uint32_t kAtOnce = 1000;
  Directional walk(site.at.size(), seed);
  const double base = site.f(site.at);
  Population all;
  for (std::size_t i = 0; i < directions; ++i) {
    if (i % kAtOnce == 0) options.check_stop();
    const auto& there = walk.from(site.at, kDelta, static_cast<std::int64_t>(i / kAtOnce),
                                  static_cast<std::uint32_t>(i % kAtOnce));
    const double d = (site.f(there) - base) / kDelta;
    all.mean += d / static_cast<double>(directions);
    all.mean_square += d * d / static_cast<double>(directions);
    all.largest = std::max(all.largest, std::fabs(d));
  }
  return all;
}

/// ρ of k → ∞ probes, from `parts` looks of so many directions each.
Estimate population_lgi(const Site& site, std::size_t directions, double eps, const TheoryOptions& options) {
  constexpr std::size_t kParts = 8;
  std::vector<double> values;
  for (std::size_t i = 0; i < kParts; ++i)
    values.push_back(look_around(site, directions / kParts, options.seed + 1000 + i, options).lgi(eps));
  return mean_of(values);
}

/// ρ of k probes, `trials` times with other directions, by the library's own function.
std::vector<double> sampled_lgi(const Site& site, std::int64_t k, std::size_t trials, double eps,
                                const TheoryOptions& options) {
  std::vector<double> values;
  for (std::size_t i = 0; i < trials; ++i) {
    options.check_stop();
    const auto d = differences(site.f, site.at, kDelta, k, options.seed + 77, static_cast<std::int64_t>(i));
    values.push_back(kernels::lgi_of(Statistic::variance, {d.data(), nullptr, k}, eps));
  }
  return values;
}

Estimate coverage(const std::vector<double>& values, double truth, double within) {
  const auto hits = std::count_if(values.begin(), values.end(),
                                  [&](double rho) { return std::fabs(rho - truth) <= within; });
  return share_of(static_cast<std::size_t>(hits), values.size());
}

Site scaled(Site site, double factor, std::string name) {
  return {std::move(name), [f = std::move(site.f), factor](const Point& x) { return factor * f(x); },
          std::move(site.at)};
}

// ---- sample size ------------------------------------------------------------------------------------------

/// Appendix C: probes for |ρ̂ − ρ| ≤ Δ with probability 1 − p, for L-Lipschitz f.
double probes_of_appendix(double lipschitz, double eps, double within, double p) {
  const double l2 = lipschitz * lipschitz;
  const double m2 = (eps * eps + l2 * l2) / std::pow(eps, 4);
  return 32 * l2 * l2 * m2 * (4 * l2 + 1) / (within * within) * std::log(6 / p);
}

/// Lemma 4.2, with the constant that Appendix C has for large L.
double probes_of_lemma(double lipschitz, double eps, double within, double p) {
  return 128 * std::pow(lipschitz, 6) / (std::pow(eps, 4) * within * within) * std::log(6 / p);
}

constexpr double kWithin = 0.1;  ///< Δ
constexpr double kMiss = 0.05;   ///< p

Claim sufficient_probes(const TheoryOptions& options) {
  constexpr double kLipschitz = 0.5;
  constexpr double kEps = 1;
  const double wanted = std::ceil(probes_of_appendix(kLipschitz, kEps, kWithin, kMiss));
  Claim claim{.id = "samples.bound",
              .where = "Lemma 4.2, Appendix C",
              .statement = "k ≥ 32 L⁴M²(4L²+1)/Δ²·ln(6/p) probes give |ρ̂−ρ| ≤ Δ with probability 1 − p.",
              .setting = fmt::format("Where that k can be run: losses scaled to L = 0.5, ε = 1, Δ = 0.1, p = "
                                     "0.05, which asks for k = {:.0f}. Share of trials within Δ.",
                                     wanted)};
  for (const auto* name : {"kinks", "chain", "quadratic"}) {
    const auto plain = site_of(name, 2, false);
    const auto seen = look_around(plain, options.size<std::size_t>(100000, 20000), options.seed, options);
    const auto site = scaled(plain, kLipschitz / seen.largest, plain.name);
    const double truth = population_lgi(site, options.size<std::size_t>(200000, 40000), kEps, options).value;
    const auto values = sampled_lgi(site, static_cast<std::int64_t>(wanted),
                                    options.size<std::size_t>(300, 100), kEps, options);
    claim.cases.push_back({site.name, Relation::at_least, 1 - kMiss, 0, coverage(values, truth, kWithin),
                           fmt::format("ρ = {:.3f} at the start of {}.", truth, name)});
  }
  return claim;
}

std::vector<Claim> check_paper_probes(const TheoryOptions& options) {
  const double asked = probes_of_appendix(1, kEpsOfLgi, kWithin, kMiss);
  Claim enough{.id = "samples.asked",
               .where = "Lemma 4.2 at the paper's constants",
               .statement = "The experiments' k = 2 and k = 8 have the lemma's guarantee.",
               .setting = "k that Appendix C asks for at ε = 1e-6, L = 1, Δ = 0.1, p = 0.05."};
  Claim covered{.id = "samples.coverage",
                .where = "Lemma 4.2, Section 4.1",
                .statement = "With k = 2 or 8 probes |ρ̂−ρ| ≤ 0.1 with probability 0.95.",
                .setting =
                    "Share of trials within 0.1 of ρ for k → ∞, at ε = 1e-6 and δ = 0.01. The paper does "
                    "not promise this; it is what its lemma would give."};
  std::string needed;
  for (const auto& [name, dimensions] : std::vector<std::pair<std::string, std::size_t>>{
           {"kinks", 2}, {"chain", 10}, {"quadratic", 10}, {"logistic", 10}}) {
    const auto site = site_of(name, dimensions, false);
    const double truth =
        population_lgi(site, options.size<std::size_t>(200000, 40000), kEpsOfLgi, options).value;
    const auto trials = options.size<std::size_t>(4000, 1000);
    for (const std::int64_t k : {2, 8}) {
      const auto values = sampled_lgi(site, k, trials, kEpsOfLgi, options);
      covered.cases.push_back(
          {fmt::format("{}, k = {}", site.name, k), Relation::at_least, 1 - kMiss, 0,
           coverage(values, truth, kWithin),
           fmt::format("ρ = {:.3f}; the mean of ρ̂ is {:.3f}.", truth, mean_of(values).value)});
    }
    if (name != "quadratic") continue;
    for (std::int64_t k = 2; needed.empty() && k <= 1024; k *= 2)
      if (coverage(sampled_lgi(site, k, trials, kEpsOfLgi, options), truth, kWithin).value >= 1 - kMiss)
        needed = fmt::format("On the quadratic, k = {} reaches 95 %.", k);
  }
  for (const double k : {2.0, 8.0})
    enough.cases.push_back({fmt::format("k = {:.0f}", k), Relation::at_least, asked, 0, Estimate::exact(k),
                            fmt::format("The formula asks for {:.2g} probes. {}", asked, needed)});
  return {enough, covered};
}

Claim order_of_lemma() {
  const std::vector<double> factors = {1, 2, 4, 8, 16, 32, 64};
  const auto exponent = [&](const auto& probes) {
    std::vector<double> counts;
    for (const double factor : factors) counts.push_back(probes(factor));
    return Estimate::exact(power(factors, counts));
  };
  Claim claim{
      .id = "samples.order",
      .where = "Lemma 4.2 against Appendix C",
      .statement = "Appendix C's k is O(L⁶/(ε⁴Δ²)·log(1/p)).",
      .setting = "Exponents of Appendix C's own formula, L from 1 to 64, ε and Δ from their values up."};
  claim.cases = {
      {"in L", Relation::at_most, 6, 0.1,
       exponent([](double x) { return probes_of_appendix(x, kEpsOfLgi, kWithin, kMiss); }),
       "M² = (ε²+L⁴)/ε⁴ grows as L⁴, which the lemma leaves out: L⁴·M²·(4L²+1) grows as L¹⁰."},
      {"in 1/ε", Relation::at_most, 4, 0.1,
       exponent([](double x) { return probes_of_appendix(1, kEpsOfLgi / x, kWithin, kMiss); }), ""},
      {"in 1/Δ", Relation::at_most, 2, 0.1,
       exponent([](double x) { return probes_of_appendix(1, kEpsOfLgi, kWithin / x, kMiss); }), ""}};
  return claim;
}

/// ρ is the same in any unit of the loss, if ε is too; L⁶/ε⁴ is not.
Claim units_of_lemma(const TheoryOptions& options) {
  Claim claim{.id = "samples.units",
              .where = "Lemma 4.2",
              .statement = "k = C·L⁶/(ε⁴Δ²)·log(1/p) probes are enough, for one constant C.",
              .setting =
                  "A linear loss in two units, so that ρ = 1/3 in both; C = 128, Appendix C's. Share of "
                  "trials within Δ = 0.1."};
  for (const double unit : {1.0, 1e4}) {
    const double eps = unit * unit;
    const Site site{fmt::format("L = {:.0e}, ε = {:.0e}", unit, eps),
                    [unit](const Point& x) { return unit * x[0]; },
                    {0, 0}};
    const auto k = static_cast<std::int64_t>(std::ceil(probes_of_lemma(unit, eps, kWithin, kMiss)));
    const auto values = sampled_lgi(site, k, std::size_t{50}, eps, options);
    claim.cases.push_back({fmt::format("{}: k = {}", site.name, k), Relation::at_least, 1 - kMiss, 0.05,
                           coverage(values, 1.0 / 3, kWithin),
                           fmt::format("The same loss in a unit of 1e-4: the lemma asks for {} probe, whose "
                                       "variance is 0 and not 1/3. For any C there is such a unit.",
                                       k)});
  }
  return claim;
}

// ---- curvature --------------------------------------------------------------------------------------------

/// ⟨g, x⟩ + Σ hᵢxᵢ²/2 seen from 0, with hᵢ = ±c. Smoothing by a sphere changes neither g nor H.
struct Quadratic {
  std::size_t dimensions = 2;
  double gradient = 1;   ///< ‖g‖
  double curvature = 0;  ///< c
  bool convex = false;   ///< all signs +; else they alternate, and tr H = 0

  /// With κ_δ = δ‖H‖_F/‖g‖ as wanted.
  static Quadratic with(std::size_t dimensions, double gradient, double kappa, bool convex) {
    return {dimensions, gradient, kappa * gradient / (kDelta * std::sqrt(static_cast<double>(dimensions))),
            convex};
  }
  double sign(std::size_t i) const { return convex || i % 2 == 0 ? 1 : -1; }
  Site site() const {
    // g leans on every coordinate, unevenly.
    Point g(dimensions);
    for (std::size_t i = 0; i < dimensions; ++i) g[i] = std::sin(1 + static_cast<double>(i));
    const double length = norm(g);
    for (auto& each : g) each *= gradient / length;
    return {"",
            [g, q = *this](const Point& x) {
              double total = 0;
              for (std::size_t i = 0; i < x.size(); ++i)
                total += x[i] * (g[i] + 0.5 * q.curvature * q.sign(i) * x[i]);
              return total;
            },
            Point(dimensions, 0)};
  }
  /// Appendix E before tr H is dropped.
  double exact_lgi(double eps) const {
    const auto d = static_cast<double>(dimensions);
    const double trace = convex ? curvature * d : 0;
    const double squares = curvature * curvature * d;  // ‖H‖_F²
    const double delta2 = kDelta * kDelta;
    const double g2 = gradient * gradient / d;
    const double variance =
        g2 + delta2 * squares / (2 * d * (d + 2)) - delta2 * trace * trace / (2 * d * d * (d + 2));
    return variance / (g2 + delta2 / (4 * d * (d + 2)) * (trace * trace + 2 * squares) + eps);
  }
  /// Its last formula, and Section 3.2's.
  double lgi_by_curvature(double eps) const {
    const auto d = static_cast<double>(dimensions);
    const double kappa = kDelta * curvature * std::sqrt(d) / gradient;
    const double top = 1 + kappa * kappa / (2 * d);
    return top / (top + eps * d / (gradient * gradient));
  }
};

/// ‖g‖ at which ε counts as much as the gradient, so that the formula has something to say.
double telling_gradient(std::size_t dimensions) {
  return std::sqrt(kEpsOfLgi * static_cast<double>(dimensions));
}

std::vector<std::size_t> dimensions_of(const TheoryOptions& options) {
  if (options.quick) return {2, 10, 100, 1000};
  return {2, 10, 100, 1000, 10000};
}

std::vector<Claim> check_formulas_of_curvature(const TheoryOptions& options) {
  const auto directions = options.size<std::size_t>(40000, 8000);
  constexpr double kAbout = 0.03;
  Claim exact{.id = "curvature.exact",
              .where = "Appendix E",
              .statement = "On quadratics Var(D) and mean(D²) follow from ‖g‖, ‖H‖_F and tr H.",
              .setting = "ρ for k → ∞ beside the ratio of the two; κ = √(2d) and ‖g‖ = √(εd)."};
  Claim approximate{.id = "curvature.formula",
                    .where = "Appendix E, where tr(H)/d → 0",
                    .statement = "ρ ≈ (1+κ²/2d)/(1+κ²/2d+εd/‖g‖²).",
                    .setting = "The same, on saddles: as many curvatures +c as −c, so that tr H = 0."};
  Claim convex{.id = "curvature.convex",
               .where = "Section 3.2, without a condition on tr H",
               .statement = "ρ ≈ (1+κ²/2d)/(1+κ²/2d+ε').",
               .setting = "The same, on convex quadratics: all curvatures +c."};
  for (const auto d : dimensions_of(options)) {
    const auto size = static_cast<double>(d);
    for (const bool bowl : {false, true}) {
      const auto q = Quadratic::with(d, telling_gradient(d), std::sqrt(2 * size), bowl);
      const auto measured = population_lgi(q.site(), directions, kEpsOfLgi, options);
      const auto name = fmt::format("{}, d = {}", bowl ? "bowl" : "saddle", d);
      exact.cases.push_back(
          {name, Relation::equals, q.exact_lgi(kEpsOfLgi), 0.1 * q.exact_lgi(kEpsOfLgi), measured, ""});
      if (bowl)
        convex.cases.push_back(
            {name, Relation::equals, q.lgi_by_curvature(kEpsOfLgi), kAbout, measured,
             fmt::format("f = ⟨g,x⟩ + {:.3g}‖x‖²/2 at 0, ‖g‖ = {:.3g}: D hardly varies, since "
                         "‖u‖² = 1 in every direction.",
                         q.curvature, q.gradient)});
    }
    if (d < 10) continue;
    for (const double bend : {0.0, 10.0}) {  // κ²/2d
      const auto q = Quadratic::with(d, telling_gradient(d), std::sqrt(2 * size * bend), false);
      approximate.cases.push_back({fmt::format("κ²/2d = {:.0f}, d = {}", bend, d), Relation::equals,
                                   q.lgi_by_curvature(kEpsOfLgi), kAbout,
                                   population_lgi(q.site(), directions, kEpsOfLgi, options), ""});
    }
  }
  return {exact, approximate, convex};
}

Claim check_flat(const TheoryOptions& options) {
  constexpr double kAbout = 0.1;
  Claim claim{.id = "curvature.flat",
              .where = "Appendix E, conclusions",
              .statement = "κ ≈ 0 (flat) gives ρ ≈ 0, so that ρ is a smoothness indicator.",
              .setting =
                  "Linear losses, κ = 0, ‖g‖ = 1, by the library. The appendix's own formula gives "
                  "1/(1+εd/‖g‖²)."};
  const auto trials = options.size<std::size_t>(4000, 1000);
  for (const auto d : dimensions_of(options)) {
    const auto q = Quadratic::with(d, 1, 0, false);
    const auto shown = fmt::format(
        "f = ⟨g,x⟩ is as smooth as a function can be. D is symmetric around 0, so that ρ̂ is 1 − 1/k on "
        "average and "
        "{:.3f} for k → ∞.",
        q.exact_lgi(kEpsOfLgi));
    for (const std::int64_t k : {2, 8})
      if (d == 2 || d == 10000 || (options.quick && d == 1000))
        claim.cases.push_back(
            {fmt::format("d = {}, k = {}", d, k), Relation::equals, 0, kAbout,
             mean_of(sampled_lgi(q.site(), k, d > 2 ? trials / 4 : trials, kEpsOfLgi, options)), shown});
    claim.cases.push_back(
        {fmt::format("d = {}, k → ∞", d), Relation::equals, 0, kAbout,
         population_lgi(q.site(), options.size<std::size_t>(16000, 8000), kEpsOfLgi, options), shown});
  }
  claim.cases.push_back({"its formula, d = 10000", Relation::equals, 0, kAbout,
                         Estimate::exact(Quadratic::with(10000, 1, 0, false).lgi_by_curvature(kEpsOfLgi)),
                         "The formula and the sentence after it contradict each other."});
  return claim;
}

Claim check_kink(const TheoryOptions& options) {
  constexpr double kAbout = 0.2;
  const auto directions = options.size<std::size_t>(80000, 16000);
  Claim claim{
      .id = "curvature.kink",
      .where = "Appendix E, conclusions",
      .statement = "Non-smooth points have κ ≫ 0 and ρ ≈ 1, which triggers the brake.",
      .setting = "ρ for k → ∞ at kinks. At the minimisers the smoothed function has gradient 0, so κ = ∞."};
  const auto add = [&](const Site& site, const std::string& why) {
    claim.cases.push_back({site.name, Relation::at_least, 1, kAbout,
                           population_lgi(site, directions, kEpsOfLgi, options), why});
  };
  for (const std::size_t d : {2, 10, 100})
    add({fmt::format("Σ|xᵢ| at 0, d = {}", d),
         [](const Point& x) {
           double total = 0;
           for (const double each : x) total += std::fabs(each);
           return total;
         },
         Point(d, 0)},
        "f rises by nearly the same amount in every direction: mean(D²) is large, Var(D) is not.");
  add(site_of("chain", 2, true), "f rises in every direction.");
  auto kinks = site_of("kinks", 2, true);
  kinks.name = "kinks on one kink, (1, −1)";
  kinks.at = {1, -1};
  add(kinks, "The slope along the kink and the rise across it are of one size.");
  return claim;
}

Claim check_smooth_brake(const TheoryOptions& options) {
  Claim claim{.id = "curvature.adam",
              .where = "Section 5.3, Degeneration to Standard Adam",
              .statement = "In smooth regions ρ → 0 and the mean brake → 1: S-Adam is Adam there.",
              .setting = "The mean brake e^−2ρ̂ at the start of the smooth landscapes, d = 10, δ = 0.01."};
  for (const auto* name : {"quadratic", "softplus", "logistic"})
    for (const std::int64_t k : {2, 8}) {
      const auto site = site_of(name, 10, false);
      auto values = sampled_lgi(site, k, options.size<std::size_t>(4000, 1000), kEpsOfLgi, options);
      const double rho = mean_of(values).value;
      for (auto& each : values) each = kernels::brake_of(Brake::exponential, 2, each);
      claim.cases.push_back(
          {fmt::format("{}, k = {}", name, k), Relation::equals, 1, 0.1, mean_of(values),
           fmt::format("Mean ρ̂ = {:.3f}: the brake depends on k, not on the smoothness.", rho)});
    }
  return claim;
}

}  // namespace

std::vector<Claim> check_samples(const TheoryOptions& options) {
  std::vector<Claim> claims = {sufficient_probes(options)};
  for (auto& claim : check_paper_probes(options)) claims.push_back(std::move(claim));
  claims.push_back(order_of_lemma());
  claims.push_back(units_of_lemma(options));
  return claims;
}

std::vector<Claim> check_curvature(const TheoryOptions& options) {
  auto claims = check_formulas_of_curvature(options);
  claims.push_back(check_flat(options));
  claims.push_back(check_kink(options));
  claims.push_back(check_smooth_brake(options));
  return claims;
}

// ---- the diameter of Clarke's set -------------------------------------------------------------------------

std::vector<Claim> check_diameter(const TheoryOptions& options) {
  const auto directions = options.size<std::size_t>(40000, 8000);
  Claim lower{
      .id = "diameter.lower",
      .where = "Proposition in the LaTeX comments of Section 3.1",
      .statement = "c₁·Var(D) ≤ diam(∂f)² for some c₁ > 0.",
      .setting =
          "The least diam²/Var over the minimiser and a point beside the start of each landscape, δ = 0.01."};
  Claim upper{
      .id = "diameter.upper",
      .where = "Proposition in the LaTeX comments of Section 3.1",
      .statement = "diam(∂f)² ≤ c₂·Var(D) for some c₂.",
      .setting = "Var/diam² where diam > 0: the minimisers, and ‖x‖ at 0, whose ∂f is the unit ball."};
  constexpr double kNothing = 1e-9;  // above rounding
  for (const auto& name : landscape_names()) {
    const auto f = make_landscape(name);
    if (f.cell > 0) continue;  // it jumps: not Lipschitz, no ∂f
    double least = std::numeric_limits<double>::infinity();
    std::string where;
    for (const bool at_minimiser : {false, true}) {
      auto site = site_of(name, f.start.size(), at_minimiser);
      if (!at_minimiser) {  // some starts lie on a kink
        site.name = fmt::format("{}, beside the start", name);
        for (std::size_t i = 0; i < site.at.size(); ++i)
          site.at[i] += 0.1 * std::sin(1 + static_cast<double>(i));
      }
      const double variance = look_around(site, directions, options.seed, options).variance();
      const double size = diameter(f.subdifferential(site.at));
      if (size * size / variance < least) {
        least = size * size / variance;
        where = fmt::format("{}: diam = {:.3g}, Var = {:.3g}.", site.name, size, variance);
      }
      if (size > 0)
        upper.cases.push_back({site.name, Relation::above, kNothing, 0,
                               Estimate::exact(variance / (size * size)),
                               fmt::format("diam = {:.3g}, Var = {:.3g}.", size, variance)});
    }
    lower.cases.push_back({name, Relation::above, kNothing, 0, Estimate::exact(least), where});
  }
  const Site ball{"‖x‖ at 0", [](const Point& x) { return norm(x); }, {0, 0}};
  const double variance = look_around(ball, directions, options.seed, options).variance();
  upper.cases.push_back({ball.name, Relation::above, kNothing, 0, Estimate::exact(variance / 4),
                         fmt::format("D = 1 in every direction: Var = {:.1g}, diam = 2.", variance)});
  return {lower, upper};
}

}  // namespace sadam::lab
