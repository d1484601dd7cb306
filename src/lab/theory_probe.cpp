// What ρ and the brake are: bounds, sample size, the proximal form, curvature, the Clarke diameter.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/lgi.h"
#include "lab/landscape.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

// The paper's hyperparameters.
constexpr double kLgiEps = 1e-6;  ///< ε of ρ
constexpr double kDamping = 2;    ///< λ
constexpr double kRadius = 0.01;  ///< δ

double lgi_of(Statistic statistic, const std::vector<double>& differences, double eps = kLgiEps) {
  return kernels::lgi_of(statistic,
                         {differences.data(), nullptr, static_cast<std::int64_t>(differences.size())}, eps);
}

std::string list_of(const std::vector<double>& values) {
  return fmt::format("({:.4g})", fmt::join(values, ", "));
}

// ---- bounds -----------------------------------------------------------------------------------------------

/// The extremes of ρ that a search has met, and where.
struct Extremes {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  std::vector<double> at_least, at_most;

  void see(double rho, const std::vector<double>& d) {
    if (rho < least) {
      least = rho;
      at_least = d;
    }
    if (rho > most) {
      most = rho;
      at_most = d;
    }
  }
};

/// Differences of one size: random ones, equal ones, opposite pairs, one large beside small ones; then the
/// largest is climbed from.
Extremes search_extremes(const TheoryOptions& options, Statistic statistic, std::size_t k, double size) {
  std::mt19937_64 generator(options.seed + 977 * k);
  std::normal_distribution<double> normal;
  Extremes found;
  std::vector<double> d(k);
  const auto see = [&] { found.see(lgi_of(statistic, d), d); };
  for (int round = 0; round < options.size(4000, 500); ++round) {
    const double spread = std::exp(6 * normal(generator));
    const double centre = round % 3 == 0 ? 0 : size * normal(generator);
    for (auto& each : d) each = std::clamp(centre + spread * normal(generator), -size, size);
    see();
  }
  for (auto& each : d) each = size;
  see();
  for (std::size_t i = 0; i < k; ++i) d[i] = i % 2 == 0 ? size : -size;
  see();
  for (auto& each : d) each = size * 1e-9;
  d[0] = size;
  see();
  d = found.at_most;
  for (int round = 0; round < options.size(4000, 500); ++round) {
    const auto before = d;
    const double rho = found.most;
    d[generator() % k] = std::clamp(d[generator() % k] * (1 + normal(generator)), -size, size);
    see();
    if (found.most <= rho) d = before;
  }
  return found;
}

Extremes search_extremes(const TheoryOptions& options, Statistic statistic, double size) {
  Extremes all;
  for (const std::size_t k : {1, 2, 3, 8, 16}) {
    options.check_stop();
    const auto some = search_extremes(options, statistic, k, size);
    all.see(some.least, some.at_least);
    all.see(some.most, some.at_most);
  }
  return all;
}

}  // namespace

std::vector<Claim> check_bounds(const TheoryOptions& options) {
  constexpr double kModest = 1e4;  // beside these slopes ε is not lost to rounding
  constexpr double kLargest = 1e150;
  const double least_brake = std::exp(-kDamping);
  const auto brake = [](double lgi) { return kernels::brake_of(Brake::exponential, kDamping, lgi); };
  const auto shown = [](const std::vector<double>& d, double rho) {
    return fmt::format("D = {} gives ρ = {:.16g}.", list_of(d), rho);
  };
  const auto modest = search_extremes(options, Statistic::variance, kModest);

  Claim rho{.id = "bounds.rho",
            .where = "Proposition 4.1, Lemma A.1",
            .statement = "0 ≤ ρ < 1, whatever the losses at the probes (Var with 1/k, ε > 0).",
            .setting = "Search over random and adversarial D up to 1e4, k = 1 to 16, by the library's lgi."};
  rho.cases = {
      {"least ρ", Relation::at_least, 0, 0, Estimate::exact(modest.least),
       shown(modest.at_least, modest.least)},
      {"largest ρ", Relation::below, 1, 0, Estimate::exact(modest.most), shown(modest.at_most, modest.most)}};

  Claim braked{.id = "bounds.brake",
               .where = "Proposition 4.1, Corollary A.2",
               .statement = "e^−λ < e^−λρ ≤ 1, so that the mean brake stays above e^−λ.",
               .setting = "The library's brake at the extremes of that search, λ = 2."};
  braked.cases = {{"largest brake", Relation::at_most, 1, 0, Estimate::exact(brake(modest.least)), ""},
                  {"least, over e^−2", Relation::above, 1, 0,
                   Estimate::exact(brake(modest.most) / least_brake), shown(modest.at_most, modest.most)}};

  const auto any = search_extremes(options, Statistic::variance, kLargest);
  Claim rounded{.id = "bounds.rounding",
                .where = "Proposition 4.1, in double precision",
                .statement = "Both bounds stay strict where ε is tiny beside D².",
                .setting = "The same search with slopes up to 1e150."};
  rounded.cases = {{"largest ρ", Relation::below, 1, 0, Estimate::exact(any.most),
                    fmt::format("{} The ε of 1e-6 is lost beside D² = 1e12: the bound itself is reached, and "
                                "the brake is e^−2 to the last bit.",
                                shown({1e6, -1e6}, lgi_of(Statistic::variance, {1e6, -1e6})))}};

  Claim authors{
      .id = "bounds.code",
      .where = "Proposition 4.1 against the authors' code",
      .statement = "The published code, which divides by k − 1, keeps ρ < 1 and the brake above e^−λ.",
      .setting = "The same search with the library's unbiased_variance."};
  Claim unbiased{.id = "bounds.unbiased",
                 .where = "the authors' code",
                 .statement = "With the variance divided by k − 1, ρ ≤ k/(k−1).",
                 .setting = "The same search with the library's unbiased_variance."};
  for (const std::size_t k : {2, 8}) {
    options.check_stop();
    const auto found = search_extremes(options, Statistic::unbiased_variance, k, kModest);
    const auto name = fmt::format("largest ρ, k = {}", k);
    authors.cases.push_back({name, Relation::below, 1, 0, Estimate::exact(found.most),
                             fmt::format("{} The brake is {:.4f}, below e^−2 = {:.4f}.",
                                         shown(found.at_most, found.most), brake(found.most), least_brake)});
    unbiased.cases.push_back({name, Relation::at_most, static_cast<double>(k) / static_cast<double>(k - 1), 0,
                              Estimate::exact(found.most), shown(found.at_most, found.most)});
  }
  return {rho, braked, rounded, authors, unbiased};
}

}  // namespace sadam::lab
