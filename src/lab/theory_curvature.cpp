// What ρ says of curvature and of kinks: Section 3.2 and Appendix E, and the proposition in the comments of
// Section 3.1, which takes Var(D) for the diameter of Clarke's set.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernels/lgi.h"
#include "lab/landscape.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

/// ⟨g, x⟩ + Σ hᵢxᵢ²/2 seen from 0, with hᵢ = ±c. Smoothing by a sphere changes neither g nor H.
struct Quadratic {
  std::size_t dimensions = 2;
  double gradient = 1;   ///< ‖g‖
  double curvature = 0;  ///< c
  bool convex = false;   ///< all signs +; else they alternate, and tr H = 0

  /// With κ_δ = δ‖H‖_F/‖g‖ as wanted.
  static Quadratic with(std::size_t dimensions, double gradient, double kappa, bool convex) {
    return {dimensions, gradient,
            kappa * gradient / (kPaperRadius * std::sqrt(static_cast<double>(dimensions))), convex};
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
  double exact_lgi() const {
    const auto d = static_cast<double>(dimensions);
    const double trace = convex ? curvature * d : 0;
    const double squares = curvature * curvature * d;  // ‖H‖_F²
    const double delta2 = kPaperRadius * kPaperRadius;
    const double g2 = gradient * gradient / d;
    const double variance =
        g2 + delta2 * squares / (2 * d * (d + 2)) - delta2 * trace * trace / (2 * d * d * (d + 2));
    return variance / (g2 + delta2 / (4 * d * (d + 2)) * (trace * trace + 2 * squares) + kPaperLgiEps);
  }
  /// Its last formula, and Section 3.2's.
  double lgi_by_curvature() const {
    const auto d = static_cast<double>(dimensions);
    const double kappa = kPaperRadius * curvature * std::sqrt(d) / gradient;
    const double top = 1 + kappa * kappa / (2 * d);
    return top / (top + kPaperLgiEps * d / (gradient * gradient));
  }
};

/// ‖g‖ at which ε counts as much as the gradient, so that the formula has something to say.
double telling_gradient(std::size_t dimensions) {
  return std::sqrt(kPaperLgiEps * static_cast<double>(dimensions));
}

std::vector<std::size_t> dimensions_of(const LongWork& options) {
  if (options.quick) return {2, 10, 100, 1000};
  return {2, 10, 100, 1000, 10000};
}

std::vector<Claim> check_formulas_of_curvature(const LongWork& options) {
  const auto directions = options.size<std::size_t>(40000, 8000);
  constexpr double kAbout = 0.03;
  Claim exact{"curvature.exact", "Appendix E",
              "On quadratics Var(D) and mean(D²) follow from ‖g‖, ‖H‖_F and tr H.",
              "ρ for k → ∞ beside the ratio of the two; κ = √(2d) and ‖g‖ = √(εd)."};
  Claim approximate{"curvature.formula", "Appendix E, where tr(H)/d → 0", "ρ ≈ (1+κ²/2d)/(1+κ²/2d+εd/‖g‖²).",
                    "The same, on saddles: as many curvatures +c as −c, so that tr H = 0."};
  Claim convex{"curvature.convex", "Section 3.2, without a condition on tr H", "ρ ≈ (1+κ²/2d)/(1+κ²/2d+ε').",
               "The same, on convex quadratics: all curvatures +c."};
  for (const auto d : dimensions_of(options)) {
    const auto size = static_cast<double>(d);
    for (const bool bowl : {false, true}) {
      const auto q = Quadratic::with(d, telling_gradient(d), std::sqrt(2 * size), bowl);
      const auto measured = population_lgi(q.site(), directions, options);
      const auto name = fmt::format("{}, d = {}", bowl ? "bowl" : "saddle", d);
      exact.add(name, equals(q.exact_lgi(), 0.1 * q.exact_lgi()), measured);
      if (bowl)
        convex.add(name, equals(q.lgi_by_curvature(), kAbout), measured,
                   fmt::format("f = ⟨g,x⟩ + {:.3g}‖x‖²/2 at 0, ‖g‖ = {:.3g}: D hardly varies, since "
                               "‖u‖² = 1 in every direction.",
                               q.curvature, q.gradient));
    }
    if (d < 10) continue;
    for (const double bend : {0.0, 10.0}) {  // κ²/2d
      const auto q = Quadratic::with(d, telling_gradient(d), std::sqrt(2 * size * bend), false);
      approximate.add(fmt::format("κ²/2d = {:.0f}, d = {}", bend, d), equals(q.lgi_by_curvature(), kAbout),
                      population_lgi(q.site(), directions, options));
    }
  }
  return {exact, approximate, convex};
}

Claim check_flat(const LongWork& options) {
  constexpr double kAbout = 0.1;
  Claim claim{"curvature.flat", "Appendix E, conclusions",
              "κ ≈ 0 (flat) gives ρ ≈ 0, so that ρ is a smoothness indicator.",
              "Linear losses, κ = 0, ‖g‖ = 1, by the library. The appendix's own formula gives "
              "1/(1+εd/‖g‖²)."};
  const auto trials = options.size<std::size_t>(4000, 1000);
  for (const auto d : dimensions_of(options)) {
    const auto q = Quadratic::with(d, 1, 0, false);
    const auto shown = fmt::format(
        "f = ⟨g,x⟩ is as smooth as a function can be. D is symmetric around 0, so that ρ̂ is 1 − 1/k on "
        "average and "
        "{:.3f} for k → ∞.",
        q.exact_lgi());
    for (const std::int64_t k : {2, 8})
      if (d == 2 || d == 10000 || (options.quick && d == 1000))
        claim.add(fmt::format("d = {}, k = {}", d, k), equals(0, kAbout),
                  mean_of(sampled_lgi(q.site(), k, d > 2 ? trials / 4 : trials, options)), shown);
    claim.add(fmt::format("d = {}, k → ∞", d), equals(0, kAbout),
              population_lgi(q.site(), options.size<std::size_t>(16000, 8000), options), shown);
  }
  claim.add("its formula, d = 10000", equals(0, kAbout),
            Estimate(Quadratic::with(10000, 1, 0, false).lgi_by_curvature()),
            "The formula and the sentence after it contradict each other.");
  return claim;
}

Claim check_kink(const LongWork& options) {
  constexpr double kAbout = 0.2;
  const auto directions = options.size<std::size_t>(80000, 16000);
  Claim claim{"curvature.kink", "Appendix E, conclusions",
              "Non-smooth points have κ ≫ 0 and ρ ≈ 1, which triggers the brake.",
              "ρ for k → ∞ at kinks. At the minimisers the smoothed function has gradient 0, so κ = ∞."};
  const auto add = [&](const Site& site, const std::string& why) {
    claim.add(site.name, at_least(1, kAbout), population_lgi(site, directions, options), why);
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

Claim check_smooth_brake(const LongWork& options) {
  Claim claim{"curvature.adam", "Section 5.3, Degeneration to Standard Adam",
              "In smooth regions ρ → 0 and the mean brake → 1: S-Adam is Adam there.",
              "The mean brake e^−2ρ̂ at the start of the smooth landscapes, d = 10, δ = 0.01."};
  for (const auto* name : {"quadratic", "softplus", "logistic"})
    for (const std::int64_t k : {2, 8}) {
      const auto site = site_of(name, 10, false);
      auto values = sampled_lgi(site, k, options.size<std::size_t>(4000, 1000), options);
      const double rho = mean_of(values).value;
      for (auto& each : values) each = kernels::brake_of(Brake::exponential, 2, each);
      claim.add(fmt::format("{}, k = {}", name, k), equals(1, 0.1), mean_of(values),
                fmt::format("Mean ρ̂ = {:.3f}: the brake depends on k, not on the smoothness.", rho));
    }
  return claim;
}

}  // namespace

std::vector<Claim> check_curvature(const LongWork& options) {
  auto claims = check_formulas_of_curvature(options);
  for (auto* const check : {check_flat, check_kink, check_smooth_brake}) claims.push_back(check(options));
  return claims;
}

// ---- the diameter of Clarke's set -------------------------------------------------------------------------

std::vector<Claim> check_diameter(const LongWork& options) {
  const auto directions = options.size<std::size_t>(40000, 8000);
  Claim lower{
      "diameter.lower", "Proposition in the LaTeX comments of Section 3.1",
      "c₁·Var(D) ≤ diam(∂f)² for some c₁ > 0.",
      "The least diam²/Var over the minimiser and a point beside the start of each landscape, δ = 0.01."};
  Claim upper{"diameter.upper", "Proposition in the LaTeX comments of Section 3.1",
              "diam(∂f)² ≤ c₂·Var(D) for some c₂.",
              "Var/diam² where diam > 0: the minimisers, and ‖x‖ at 0, whose ∂f is the unit ball."};
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
        upper.add(site.name, above(kNothing), Estimate(variance / (size * size)),
                  fmt::format("diam = {:.3g}, Var = {:.3g}.", size, variance));
    }
    lower.add(name, above(kNothing), Estimate(least), where);
  }
  const Site ball{"‖x‖ at 0", [](const Point& x) { return norm(x); }, {0, 0}};
  const double variance = look_around(ball, directions, options.seed, options).variance();
  upper.add(ball.name, above(kNothing), Estimate(variance / 4),
            fmt::format("D = 1 in every direction: Var = {:.1g}, diam = 2.", variance));
  return {lower, upper};
}

}  // namespace sadam::lab
