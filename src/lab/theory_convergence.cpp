// Where S-Adam goes and how fast: Theorem 5.5 and Appendix B, on the landscapes.
//
// The theorem's conditions, here: every landscape but the staircase is locally Lipschitz, bounded below and
// path-differentiable (Assumption 5.1), and iterates stay bounded (5.2). A mini-batch is the landscape plus
// ⟨ξ, x⟩ with fresh normal ξ in each step, which keeps E v above σ² (5.4). With β1 = 0, E[m | x] is the
// gradient itself, so that 5.4 holds exactly; with β1 = 0.9 it need not at kinks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "lab/landscape.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

constexpr double kNoise = 0.5;  ///< deviation of each coordinate of a mini-batch's gradient

std::vector<Landscape> lipschitz_landscapes(std::size_t dimensions = 4) {
  std::vector<Landscape> all;
  for (const auto& name : landscape_names()) {
    const bool plane = name == "kinks" || name == "valley";
    auto f = make_landscape(name, plane ? 2 : dimensions);
    // From the authors' start S-Adam is still on its way along the valley when a run ends.
    if (name == "valley") f.start = {0.5, 1};
    if (f.cell == 0) all.push_back(std::move(f));
  }
  return all;
}

/// S-Adam on mini-batches of a landscape.
class NoisyWalk {
 public:
  NoisyWalk(const Landscape& f, const WalkOptions& options, double noise)
      : f_(f), noise_(noise), generator_(options.seed), xi_(f.start.size(), 0), walk_(f.start, options) {}

  void step() {
    for (auto& each : xi_) each = noise_ * normal_(generator_);
    walk_.step([&](const Point& x) { return f_.value(x) + dot(xi_, x); }, sum(f_.gradient(walk_.at()), xi_));
  }
  Walk& walk() { return walk_; }
  const Point& at() const { return walk_.at(); }

 private:
  const Landscape& f_;
  double noise_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  Point xi_;
  Walk walk_;
};

WalkOptions options_with(double beta1, double lr, std::uint64_t seed) {
  auto options = WalkOptions::paper(lr);
  options.seed = seed;
  options.rule.beta1 = beta1;
  // Without it the first steps are √(1/(1−β2)) times longer, which no limit depends on.
  options.rule.bias_correction = BiasCorrection::adamw;
  return options;
}

double squared(double x) { return x * x; }

std::string at_point(const Point& x) { return fmt::format("({:.4g})", fmt::join(x, ", ")); }

// ---- the rate ---------------------------------------------------------------------------------------------

/// dist² along runs of one length: for each seed its mean over each of some windows, and its least.
struct Distances {
  std::vector<std::vector<double>> windows;  ///< [window][seed]
  std::vector<double> least;                 ///< [seed]

  /// min over t of E dist²: the least mean of a window, over these seeds.
  double least_mean(const std::vector<std::size_t>& seeds) const {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& window : windows) best = std::min(best, mean_over(window, seeds));
    return best;
  }
  /// E min over t of dist².
  double mean_least(const std::vector<std::size_t>& seeds) const { return mean_over(least, seeds); }
};

Distances run_for(const Landscape& f, double beta1, std::int64_t steps, std::size_t seeds,
                  const LongWork& options) {
  constexpr std::int64_t kWindows = 5;  // more would take the luckiest of many noisy means
  Distances all{{kWindows, std::vector<double>(seeds, 0)}, {}};
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    auto rule = options_with(beta1, 0.5 / std::sqrt(static_cast<double>(steps)), options.seed * 1000 + seed);
    rule.rule.beta2 = 0.99;  // v must forget the way to the minimum well within the shortest run
    NoisyWalk walk(f, rule, kNoise);
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t t = 0; t < steps; ++t) {
      if (t % 256 == 0) options.check_stop();
      const double d2 = squared(f.stationarity(walk.at()));
      all.windows[static_cast<std::size_t>(t * kWindows / steps)][seed] +=
          d2 * kWindows / static_cast<double>(steps);
      least = std::min(least, d2);
      walk.step();
    }
    all.least.push_back(std::max(least, 1e-30));
  }
  return all;
}

struct Rates {
  Estimate of_mean;   ///< slope of min over t of E dist² in T
  Estimate of_least;  ///< slope of E min over t of dist²
  double last = 0;    ///< the first of these at the largest T
};

Rates fit_rates(const Landscape& f, double beta1, const LongWork& options) {
  const auto lengths =
      options.quick ? std::vector<double>{4000, 16000} : std::vector<double>{4000, 16000, 64000};
  const auto seeds = options.size<std::size_t>(24, 12);
  std::vector<Distances> runs;
  for (const double steps : lengths)
    runs.push_back(run_for(f, beta1, static_cast<std::int64_t>(steps), seeds, options));
  const auto slope = [&](double (Distances::*of)(const std::vector<std::size_t>&) const) {
    return over_seeds(
        seeds,
        [&](const std::vector<std::size_t>& some) {
          std::vector<double> values;
          for (const auto& run : runs) values.push_back((run.*of)(some));
          return power(lengths, values);
        },
        options.seed);
  };
  std::vector<std::size_t> every(seeds);
  std::iota(every.begin(), every.end(), std::size_t{0});
  return {slope(&Distances::least_mean), slope(&Distances::mean_least), runs.back().least_mean(every)};
}

}  // namespace

std::vector<Claim> check_rate(const LongWork& options) {
  constexpr double kAbout = 0.1;
  const auto setting =
      fmt::format("Slope of log min E dist² in log T, T = 4000 to {}, η = 1/(2√T), β2 = 0.99, {} seeds",
                  options.size(64000, 16000), options.size(24, 12));
  Claim strict{"rate.conditions", "Theorem 5.5, end of its proof",
               "min over t < T of E dist(0, ∂f)² = O(T^−1/2) with η = Θ(T^−1/2).",
               fmt::format("{}; β1 = 0, so that Assumption 5.4 holds exactly.", setting)};
  Claim usual{"rate.momentum", "Theorem 5.5, end of its proof", "The same with β1 = 0.9.",
              fmt::format("{}.", setting)};
  Claim complexity{"rate.complexity", "Theorem 5.5, Section 5.3",
                   "An ε-stationary point is reached in O(1/ε²) iterations.",
                   "Exponent of 1/ε in the iterations, which is −2 over the slope of dist² in T, on the "
                   "smooth landscapes: for the mean dist² and for the least of a run."};
  complexity.add("by its own rate", at_most(2), Estimate(4),
                 "dist² = O(T^−1/2) means dist ≤ ε after T = O(1/ε⁴) iterations: the square was forgotten.");
  const auto add_exponents = [&](const Landscape& f, const Rates& rates) {
    const auto exponent = [](const Estimate& slope) {
      return Estimate{-2 / slope.value, -2 / slope.low, -2 / slope.high};
    };
    const auto name = fmt::format("{}, d = {}", f.name, f.start.size());
    complexity.add(fmt::format("{}, mean", name), at_most(2, 0.2), exponent(rates.of_mean),
                   "Four times the iterations halve dist², not dist.");
    complexity.add(fmt::format("{}, least", name), at_most(2, 0.2), exponent(rates.of_least),
                   "Even the luckiest step of a run comes later than that.");
  };
  for (const auto& f : lipschitz_landscapes())
    for (const double beta1 : {0.0, 0.9}) {
      options.say(fmt::format("{}, β1 = {}", f.name, beta1));
      const auto rates = fit_rates(f, beta1, options);
      (beta1 == 0 ? strict : usual)
          .add(f.name, at_most(-0.5, kAbout), rates.of_mean,
               fmt::format("{}: min E dist² is still {:.3g} at T = {}.", f.formula, rates.last,
                           options.size(64000, 16000)));
      if (beta1 == 0 && f.is_smooth()) add_exponents(f, rates);
    }
  for (const auto& f : lipschitz_landscapes(32)) {
    if (!f.is_smooth()) continue;
    options.say(fmt::format("{}, d = 32", f.name));
    add_exponents(f, fit_rates(f, 0, options));
  }
  return {strict, usual, complexity};
}

// ---- the limit --------------------------------------------------------------------------------------------

std::vector<Claim> check_limit(const LongWork& options) {
  constexpr double kSmall = 0.05;
  constexpr double kBall = 0.01;  // δ
  const auto steps = options.size<std::int64_t>(200000, 80000);
  const auto seeds = std::size_t{5};
  const auto setting = fmt::format("{} steps, η = t^−3/4 (Ση = ∞, Ση² < ∞), β1 = 0, {} seeds", steps, seeds);
  Claim literal{"limit.distance", "Theorem 5.5",
                "lim inf dist(0, ∂f(x_t)) = 0 almost surely, under Ση = ∞, Ση² < ∞.",
                fmt::format("{}. The least dist of the second half; at most 0.05 counts as 0.", setting)};
  Claim points{"limit.points", "Theorem 5.5, its proof",
               "Every accumulation point of S-Adam is Clarke stationary.",
               fmt::format("{}. The distance of the last point from the only stationary one.", setting)};
  Claim nearly{
      "limit.goldstein", "abstract, Section 1", "S-Adam comes to (δ, ε)-Clarke stationary points.",
      fmt::format("{}. Share of points of the second half that are (0.01, 0.05)-stationary.", setting)};
  for (const auto& f : lipschitz_landscapes()) {
    options.say(f.name);
    std::vector<double> least, away;
    std::size_t stationary = 0;
    std::size_t looks = 0;
    Point last;
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      NoisyWalk walk(f, options_with(0, 1, options.seed * 1000 + 500 + seed), kNoise);
      double lowest = std::numeric_limits<double>::infinity();
      for (std::int64_t t = 0; t < steps; ++t) {
        if (t % 256 == 0) options.check_stop();
        walk.walk().set_lr(std::pow(static_cast<double>(t + 1), -0.75));
        walk.step();
        if (t < steps / 2) continue;
        lowest = std::min(lowest, f.stationarity(walk.at()));
        if (t % (steps / 50) != 0) continue;
        ++looks;
        stationary += f.is_stationary(walk.at(), kBall, kSmall) ? 1U : 0U;
      }
      last = walk.at();
      least.push_back(lowest);
      away.push_back(norm(sum(last, *f.minimiser, -1)));
    }
    literal.add(
        f.name, at_most(0, kSmall), mean_of(least),
        fmt::format(
            "{}: x = {} is {:.1g} from the minimiser, and ∂f has dist {:.3g} there. A step lands on a "
            "kink with probability 0, and beside it the gradient keeps its length.",
            f.formula, at_point(last), away.back(), f.stationarity(last)));
    points.add(f.name, at_most(0, kSmall), mean_of(away),
               fmt::format("x = {} after {} steps.", at_point(last), steps));
    nearly.add(f.name, at_least(1, kSmall), share_of(stationary, looks),
               fmt::format("x = {} after {} steps is not.", at_point(last), steps));
  }
  Claim quantized{"limit.quantized", "Section 7 against Assumption 5.1",
                  "The guarantee covers quantization-aware training."};
  quantized.untestable =
      "No number can decide this. A loss that rounds its weights, such as the staircase, jumps: it is not "
      "locally "
      "Lipschitz, has no ∂f, and the theorem says nothing about it.";
  return {literal, points, nearly, quantized};
}

// ---- descent ----------------------------------------------------------------------------------------------

namespace {

/// The largest 1/(√v+ε) that no coordinate goes below: c₁, if the flow's direction is ξ/(√v+ε).
double alignment(const Walk& walk) {
  double largest = 0;
  for (const double each : walk.second_moment()) largest = std::max(largest, std::sqrt(each));
  return 1 / (largest + 1e-8);
}

/// Windows along S-Adam with a tiny step and no noise, which follows the mean flow.
void check_flow(const Landscape& f, const LongWork& options, Claim& claim) {
  const double eta = options.size(1e-4, 4e-4);
  const auto steps = options.size<std::int64_t>(200000, 50000);
  const std::int64_t window = steps / 200;
  const double near = 20 * eta;  // a kink that the walk rattles across is one that the flow slides along
  NoisyWalk walk(f, options_with(0.9, eta, options.seed), 0);
  struct Window {
    Point from;
    double change, squares;
  };
  std::vector<Window> windows;
  double aligned = std::numeric_limits<double>::infinity();
  double steepest = 0;
  for (std::int64_t t = 0; t < steps; t += window) {
    options.check_stop();
    const auto from = walk.at();
    const double before = f.value(from);
    const double d2 = squared(f.stationarity(from, near));
    for (std::int64_t i = 0; i < window; ++i) walk.step();
    const double after = squared(f.stationarity(walk.at(), near));
    windows.push_back(
        {from, f.value(walk.at()) - before, std::min(d2, after) * eta * static_cast<double>(window)});
    aligned = std::min(aligned, alignment(walk.walk()));
    steepest = std::max(steepest, norm(f.gradient(walk.at())));
  }
  const double constant = std::exp(-2) * aligned;
  std::size_t violations = 0;
  std::string worst;
  for (const auto& [from, change, squares] : windows)
    if (change > -constant * squares + 5 * eta * steepest) {
      ++violations;
      worst = fmt::format("From x = {} f changes by {:.3g} in {} steps; C·dist² asks for {:.3g}.",
                          at_point(from), change, window, -constant * squares);
    }
  claim.add(f.name, at_most(0, 0.05), share_of(violations, windows.size()), worst);
}

/// The worst (f(x⁺) − f(x))/η + C·dist² of single steps: above 0, a step is no descent.
void check_step(const Landscape& f, const LongWork& options, Claim& claim) {
  constexpr double kTolerance = 0.1;  // O(η²)/η
  const double eta = options.size(1e-4, 4e-4);
  const auto steps = options.size<std::int64_t>(200000, 50000);
  NoisyWalk walk(f, options_with(0, eta, options.seed), 0);
  struct Step {
    double change, squares;
    Point from;
  };
  double aligned = std::numeric_limits<double>::infinity();
  double worst_change = -std::numeric_limits<double>::infinity();
  Step worst{};
  for (std::int64_t t = 0; t < steps; ++t) {
    if (t % 256 == 0) options.check_stop();
    const auto from = walk.at();
    const double before = f.value(from);
    walk.step();
    aligned = std::min(aligned, alignment(walk.walk()));
    const double change = (f.value(walk.at()) - before) / eta;
    if (change <= worst_change) continue;
    worst_change = change;
    worst = {change, squared(f.stationarity(from)), from};
  }
  const double excess = worst.change + std::exp(-2) * aligned * worst.squares;
  claim.add(
      f.name, at_most(0, kTolerance), Estimate(excess),
      fmt::format("{}: at x = {}, dist = {:.3g}, a step of η = {:.0e} raises f by {:.3g}·η: it jumps over "
                  "the kink, however small η is.",
                  f.formula, at_point(worst.from), std::sqrt(worst.squares), eta, worst.change));
}

}  // namespace

std::vector<Claim> check_lyapunov(const LongWork& options) {
  Claim flow{"lyapunov.flow", "Lemma B.1, with its alignment condition",
             "df/dt ≤ −C·dist(0, ∂f)² along the mean flow, C = e^−λ·c₁ > 0.",
             fmt::format("S-Adam with η = {:.0e} and no noise; share of windows of {} steps that "
                         "break it by more than 5η‖∇f‖. c₁ is the least 1/√v of the run. Kinks "
                         "within 20η count as met.",
                         options.size(1e-4, 4e-4), options.size(1000, 250))};
  Claim step{"lyapunov.step", "Theorem 5.5, end of its proof",
             "The one-step form: f(x⁺) − f(x) ≤ −C·η·dist² + O(η²).",
             fmt::format("The worst (f(x⁺) − f(x))/η + C·dist² along a run, β1 = 0, η = {:.0e}, no "
                         "noise.",
                         options.size(1e-4, 4e-4))};
  for (const auto& f : lipschitz_landscapes()) {
    options.say(f.name);
    check_flow(f, options, flow);
    check_step(f, options, step);
  }
  return {flow, step};
}

}  // namespace sadam::lab
