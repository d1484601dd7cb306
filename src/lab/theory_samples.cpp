// How many probes ρ needs: Lemma 4.2 and Appendix C.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

Estimate coverage(const std::vector<double>& values, double truth, double within) {
  const auto hits = std::count_if(values.begin(), values.end(),
                                  [&](double rho) { return std::fabs(rho - truth) <= within; });
  return share_of(static_cast<std::size_t>(hits), values.size());
}

Site scaled(Site site, double factor, std::string name) {
  return {std::move(name), [f = std::move(site.f), factor](const Point& x) { return factor * f(x); },
          std::move(site.at)};
}

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

Claim sufficient_probes(const LongWork& options) {
  constexpr double kLipschitz = 0.5;
  constexpr double kEps = 1;
  const double wanted = std::ceil(probes_of_appendix(kLipschitz, kEps, kWithin, kMiss));
  Claim claim{"samples.bound", "Lemma 4.2, Appendix C",
              "k ≥ 32 L⁴M²(4L²+1)/Δ²·ln(6/p) probes give |ρ̂−ρ| ≤ Δ with probability 1 − p.",
              fmt::format("Where that k can be run: losses scaled to L = 0.5, ε = 1, Δ = 0.1, p = "
                          "0.05, which asks for k = {:.0f}. Share of trials within Δ.",
                          wanted)};
  for (const auto* name : {"kinks", "chain", "quadratic"}) {
    const auto plain = site_of(name, 2, false);
    const auto seen = look_around(plain, options.size<std::size_t>(100000, 20000), options.seed, options);
    const auto site = scaled(plain, kLipschitz / seen.largest, plain.name);
    const double truth = population_lgi(site, options.size<std::size_t>(200000, 40000), options, kEps).value;
    const auto values = sampled_lgi(site, static_cast<std::int64_t>(wanted),
                                    options.size<std::size_t>(300, 100), options, kEps);
    claim.add(site.name, at_least(1 - kMiss), coverage(values, truth, kWithin),
              fmt::format("ρ = {:.3f} at the start of {}.", truth, name));
  }
  return claim;
}

std::vector<Claim> check_paper_probes(const LongWork& options) {
  const double asked = probes_of_appendix(1, kPaperLgiEps, kWithin, kMiss);
  Claim enough{"samples.asked", "Lemma 4.2 at the paper's constants",
               "The experiments' k = 2 and k = 8 have the lemma's guarantee.",
               "k that Appendix C asks for at ε = 1e-6, L = 1, Δ = 0.1, p = 0.05."};
  Claim covered{"samples.coverage", "Lemma 4.2, Section 4.1",
                "With k = 2 or 8 probes |ρ̂−ρ| ≤ 0.1 with probability 0.95.",
                "Share of trials within 0.1 of ρ for k → ∞, at ε = 1e-6 and δ = 0.01. The paper does "
                "not promise this; it is what its lemma would give."};
  std::string needed;
  for (const auto& [name, dimensions] : std::vector<std::pair<std::string, std::size_t>>{
           {"kinks", 2}, {"chain", 10}, {"quadratic", 10}, {"logistic", 10}}) {
    const auto site = site_of(name, dimensions, false);
    const double truth = population_lgi(site, options.size<std::size_t>(200000, 40000), options).value;
    const auto trials = options.size<std::size_t>(4000, 1000);
    for (const std::int64_t k : {2, 8}) {
      const auto values = sampled_lgi(site, k, trials, options);
      covered.add(fmt::format("{}, k = {}", site.name, k), at_least(1 - kMiss),
                  coverage(values, truth, kWithin),
                  fmt::format("ρ = {:.3f}; the mean of ρ̂ is {:.3f}.", truth, mean_of(values).value));
    }
    if (name != "quadratic") continue;
    for (std::int64_t k = 2; needed.empty() && k <= 1024; k *= 2)
      if (coverage(sampled_lgi(site, k, trials, options), truth, kWithin).value >= 1 - kMiss)
        needed = fmt::format("On the quadratic, k = {} reaches 95 %.", k);
  }
  for (const double k : {2.0, 8.0})
    enough.add(fmt::format("k = {:.0f}", k), at_least(asked), Estimate(k),
               fmt::format("The formula asks for {:.2g} probes. {}", asked, needed));
  return {enough, covered};
}

Claim order_of_lemma() {
  const std::vector<double> factors = {1, 2, 4, 8, 16, 32, 64};
  const auto exponent = [&](const auto& probes) {
    std::vector<double> counts;
    counts.reserve(factors.size());
    for (const double factor : factors) counts.push_back(probes(factor));
    return power(factors, counts);
  };
  Claim claim{"samples.order", "Lemma 4.2 against Appendix C", "Appendix C's k is O(L⁶/(ε⁴Δ²)·log(1/p)).",
              "Exponents of Appendix C's own formula, L from 1 to 64, ε and Δ from their values up."};
  claim.add("in L", at_most(6, 0.1),
            Estimate(exponent([](double x) { return probes_of_appendix(x, kPaperLgiEps, kWithin, kMiss); })),
            "M² = (ε²+L⁴)/ε⁴ grows as L⁴, which the lemma leaves out: L⁴·M²·(4L²+1) grows as L¹⁰.");
  claim.add(
      "in 1/ε", at_most(4, 0.1),
      Estimate(exponent([](double x) { return probes_of_appendix(1, kPaperLgiEps / x, kWithin, kMiss); })));
  claim.add(
      "in 1/Δ", at_most(2, 0.1),
      Estimate(exponent([](double x) { return probes_of_appendix(1, kPaperLgiEps, kWithin / x, kMiss); })));
  return claim;
}

/// ρ is the same in any unit of the loss, if ε is too; L⁶/ε⁴ is not.
Claim units_of_lemma(const LongWork& options) {
  Claim claim{"samples.units", "Lemma 4.2", "k = C·L⁶/(ε⁴Δ²)·log(1/p) probes are enough, for one constant C.",
              "A linear loss in two units, so that ρ = 1/3 in both; C = 128, Appendix C's. Share of "
              "trials within Δ = 0.1."};
  for (const double unit : {1.0, 1e4}) {
    const double eps = unit * unit;
    const Site site{fmt::format("L = {:.0e}, ε = {:.0e}", unit, eps),
                    [unit](const Point& x) { return unit * x[0]; },
                    {0, 0}};
    const auto k = static_cast<std::int64_t>(std::ceil(probes_of_lemma(unit, eps, kWithin, kMiss)));
    const auto values = sampled_lgi(site, k, 50, options, eps);
    claim.add(fmt::format("{}: k = {}", site.name, k), at_least(1 - kMiss, 0.05),
              coverage(values, 1.0 / 3, kWithin),
              fmt::format("The same loss in a unit of 1e-4: the lemma asks for {} probe, whose "
                          "variance is 0 and not 1/3. For any C there is such a unit.",
                          k));
  }
  return claim;
}

}  // namespace

std::vector<Claim> check_samples(const LongWork& options) {
  const auto bound = sufficient_probes(options);
  const auto paper = check_paper_probes(options);
  return {bound, paper[0], paper[1], order_of_lemma(), units_of_lemma(options)};
}

}  // namespace sadam::lab
