// What the formulas of ρ and of the brake say by themselves: their bounds, and the proximal form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/lgi.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

double rho_of(Statistic statistic, const std::vector<double>& d) {
  return sadam::lgi(statistic, d, {}, kPaperLgiEps);
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
Extremes search_extremes(const LongWork& options, Statistic statistic, std::size_t k, double size) {
  std::mt19937_64 generator(options.seed + 977 * k);
  std::normal_distribution<double> normal;
  Extremes found;
  std::vector<double> d(k);
  const auto see = [&] { found.see(rho_of(statistic, d), d); };
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

Extremes search_extremes(const LongWork& options, Statistic statistic, double size) {
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

std::vector<Claim> check_bounds(const LongWork& options) {
  constexpr double kModest = 1e4;  // beside these slopes ε is not lost to rounding
  constexpr double kLargest = 1e150;
  const double least_brake = std::exp(-kPaperDamping);
  const auto brake_at = [](const std::vector<double>& d, Statistic statistic = Statistic::variance) {
    return brake(Brake::exponential, kPaperDamping, rho_of(statistic, d));
  };
  const auto shown = [](const std::vector<double>& d, double rho) {
    return fmt::format("D = ({:.4g}) gives ρ = {:.16g}.", fmt::join(d, ", "), rho);
  };
  const auto modest = search_extremes(options, Statistic::variance, kModest);

  Claim rho{"bounds.rho", "Proposition 4.1, Lemma A.1",
            "0 ≤ ρ < 1, whatever the losses at the probes (Var with 1/k, ε > 0).",
            "Search over random and adversarial D up to 1e4, k = 1 to 16, by the library's own ρ."};
  rho.add("least ρ", at_least(0), Estimate(modest.least), shown(modest.at_least, modest.least));
  rho.add("largest ρ", below(1), Estimate(modest.most), shown(modest.at_most, modest.most));

  Claim braked{"bounds.brake", "Proposition 4.1, Corollary A.2",
               "e^−λ < e^−λρ ≤ 1, so that the mean brake stays above e^−λ.",
               "The brake at the extremes of that search, λ = 2."};
  braked.add("largest brake", at_most(1), Estimate(brake_at(modest.at_least)));
  braked.add("least, over e^−2", above(1), Estimate(brake_at(modest.at_most) / least_brake),
             shown(modest.at_most, modest.most));

  const auto any = search_extremes(options, Statistic::variance, kLargest);
  Claim rounded{"bounds.rounding", "Proposition 4.1, in double precision",
                "Both bounds stay strict where ε is tiny beside D².",
                "The same search with slopes up to 1e150."};
  rounded.add("largest ρ", below(1), Estimate(any.most),
              fmt::format("{} The ε of 1e-6 is lost beside D² = 1e12: the bound itself is reached, and "
                          "the brake is e^−2 to the last bit.",
                          shown({1e6, -1e6}, rho_of(Statistic::variance, {1e6, -1e6}))));

  Claim authors{"bounds.code", "Proposition 4.1 against the authors' code",
                "The published code, which divides by k − 1, keeps ρ < 1 and the brake above e^−λ.",
                "The same search with unbiased_variance."};
  Claim unbiased{"bounds.unbiased", "the authors' code", "With the variance divided by k − 1, ρ ≤ k/(k−1).",
                 "The same search with unbiased_variance."};
  for (const std::size_t k : {2, 8}) {
    options.check_stop();
    const auto found = search_extremes(options, Statistic::unbiased_variance, k, kModest);
    const auto name = fmt::format("largest ρ, k = {}", k);
    authors.add(name, below(1), Estimate(found.most),
                fmt::format("{} The brake is {:.4f}, below e^−2 = {:.4f}.", shown(found.at_most, found.most),
                            brake_at(found.at_most, Statistic::unbiased_variance), least_brake));
    unbiased.add(name, at_most(static_cast<double>(k) / static_cast<double>(k - 1)), Estimate(found.most),
                 shown(found.at_most, found.most));
  }
  return {rho, braked, rounded, authors, unbiased};
}

// ---- the proximal form ------------------------------------------------------------------------------------

namespace {

double exponential(double x) { return kernels::brake_of(Brake::exponential, 1, x); }
double proximal(double x) { return kernels::brake_of(Brake::proximal, 1, x); }

/// The least of a convex function of one variable between −1 and 1, by cutting into thirds.
double least_between(const std::function<double(double)>& f) {
  double low = -1;
  double high = 1;
  for (int i = 0; i < 300; ++i) {
    const double third = (high - low) / 3;
    (f(low + third) < f(high - third) ? high : low) += f(low + third) < f(high - third) ? -third : third;
  }
  return 0.5 * (low + high);
}

/// How far a step of the library with the proximal brake is from the minimiser of Appendix D's subproblem,
/// over the length of the step.
double distance_from_prox(const LongWork& options) {
  constexpr double kRate = 0.1;
  auto walk_options = WalkOptions::paper(kRate);
  walk_options.rule.brake = Brake::proximal;
  walk_options.seed = options.seed;
  const Function f = [](const Point& x) { return std::fabs(x[0] - 1) + 2 * x[1] * x[1]; };
  Walk walk({0.3, -0.7}, walk_options);
  double largest = 0;
  for (int t = 0; t < 20; ++t) {
    const auto before = walk.at();
    walk.step(f, {before[0] < 1 ? -1.0 : 1.0, 4 * before[1]});
    const double gamma = kPaperDamping / kRate * walk.lgi();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double h = walk.first_moment()[i] / (std::sqrt(walk.second_moment()[i]) + walk_options.rule.eps);
      const double step =
          least_between([&](double y) { return y * h + y * y / (2 * kRate) + gamma / 2 * y * y; });
      largest = std::max(largest, std::fabs(walk.at()[i] - before[i] - step) / std::fabs(step));
    }
  }
  return largest;
}

}  // namespace

std::vector<Claim> check_proximal(const LongWork& options) {
  constexpr double kAbout = 0.1;  // what ≈ is taken to mean
  const auto gap = [](double x) { return proximal(x) - exponential(x); };

  Claim step{"proximal.step", "Appendix D",
             "The proximal subproblem with γ = λρ/η has S-Adam's step with 1/(1+λρ) as its solution.",
             "Steps of the library with its proximal brake, beside the subproblem solved by search: "
             "largest distance over the length of the step."};
  step.add("20 steps, 2 weights", at_most(0, 1e-6), Estimate(distance_from_prox(options)),
           "The step is not the subproblem's solution.");

  std::vector<double> small, gaps;
  for (double x = 1e-4; x < 2e-2; x *= 2) {
    small.push_back(x);
    gaps.push_back(gap(x));
  }
  Claim order{"proximal.order", "Appendix D",
              "e^−λρ ≈ 1/(1+λρ) to first order: the gap is of second order as λρ → 0.",
              "Exponent of the gap in λρ, from 1e-4 to 1e-2."};
  order.add("exponent", equals(2, 0.05), Estimate(power(small, gaps)),
            "The gap does not shrink as the square of λρ.");

  double widest = 0;
  for (double x = 0; x <= 20; x += 1e-4)
    if (gap(x) > gap(widest)) widest = x;
  const auto shown = [&](double x) {
    return fmt::format("λρ = {:.4g}: e^−λρ = {:.4f}, 1/(1+λρ) = {:.4f}.", x, exponential(x), proximal(x));
  };
  Claim used{"proximal.used", "Section 4.2",
             "e^−λρ ≈ 1/(1+λρ), which makes S-Adam an implicit proximal method.",
             "1 − e^−λρ·(1+λρ), the gap over the proximal brake; ≈ is taken as within 10 %. "
             "On a linear loss ρ is 1 − 1/k on average."};
  const std::vector<std::pair<std::string, double>> settings = {{"λρ = 0.1", 0.1},
                                                                {"λ = 2, ρ = 1/2", 1},
                                                                {"λ = 2, ρ = 7/8", 1.75},
                                                                {"λ = 2, ρ → 1", 2},
                                                                {"widest gap, any λ", widest}};
  for (const auto& [name, x] : settings)
    used.add(name, at_most(kAbout), Estimate(gap(x) / proximal(x)), shown(x));

  constexpr double kRate = 1e-3;
  Claim factor{"proximal.factor", "Section 4.2", "1/(1+λρ) ≈ η/(ηγ+1) with γ = λρ/η.",
               "The right side over the left at the paper's η = 1e-3, λ = 2, ρ = 1/2. (Appendix D has "
               "η/(ηγ+1) as the whole step, η included.)"};
  const double gamma = kPaperDamping * 0.5 / kRate;
  factor.add("ratio", equals(1, kAbout),
             Estimate(kRate / (kRate * gamma + 1) / proximal(kPaperDamping * 0.5)),
             fmt::format("η/(ηγ+1) = {:.4g}, 1/(1+λρ) = {:.4g}: a factor η too small.",
                         kRate / (kRate * gamma + 1), proximal(kPaperDamping * 0.5)));
  return {step, order, used, factor};
}

}  // namespace sadam::lab
