// What one example more or less changes: Appendix F, on logistic regression and on a small ReLU network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "kernels/lgi.h"
#include "lab/small_net.h"
#include "lab/theory.h"
#include "lab/walk.h"

namespace sadam::lab {
namespace {

std::vector<SmallNet> nets() { return {SmallNet("logistic", 0), SmallNet("ReLU", 8)}; }

void step_on(Walk& walk, const SmallNet& net, const Examples& batch) {
  walk.step([&](const Point& w) { return net.loss(w, batch); }, net.gradient(walk.at(), batch));
}

// ---- ρ and the batch size ---------------------------------------------------------------------------------

/// Weights at which the expected loss is nearly stationary.
Point trained(const SmallNet& net, const LongWork& options) {
  std::mt19937_64 generator(options.seed + 5);
  const auto examples = draw_examples(options.size<std::size_t>(16384, 8192), generator);
  Walk walk(net.start(options.seed), WalkOptions::adam(0.05));
  const auto steps = options.size(400, 250);
  for (int t = 0; t < steps; ++t) {
    options.check_stop();
    walk.set_lr(0.05 * std::pow(1 - static_cast<double>(t) / steps, 2));
    step_on(walk, net, examples);
  }
  return walk.at();
}

double lgi_on(const SmallNet& net, const Point& w, const Examples& batch, std::size_t draw, double& largest,
              const LongWork& options) {
  constexpr std::int64_t kProbes = 8;
  const auto d = differences([&](const Point& at) { return net.loss(at, batch); }, w, kPaperRadius, kProbes,
                             options.seed + 7, static_cast<std::int64_t>(draw));
  for (const double each : d) largest = std::max(largest, std::fabs(each));
  return kernels::lgi_of(Statistic::variance, {d.data(), nullptr, kProbes}, kPaperLgiEps);
}

/// How ρ changes with one example of a batch, for each batch size and draw.
struct BatchLook {
  std::vector<double> sizes;
  std::vector<std::vector<double>> changes;  ///< [size][draw] |ρ(S) − ρ(S′)|
  double steepest = 0;                       ///< L: the largest gradient of an example
  double largest = 0;                        ///< the paper's β: the largest |D|
};

BatchLook look_at_batches(const SmallNet& net, const Point& w, std::size_t draws, const LongWork& options) {
  BatchLook all;
  all.sizes = {32, 64, 128, 256, 512, 1024, 2048};
  std::mt19937_64 generator(options.seed + 6);
  for (const double size : all.sizes) {
    auto& changes = all.changes.emplace_back();
    for (std::size_t draw = 0; draw < draws; ++draw) {
      options.check_stop();
      auto batch = draw_examples(static_cast<std::size_t>(size), generator);
      const double before = lgi_on(net, w, batch, draw, all.largest, options);
      batch.front() = draw_examples(1, generator).front();
      changes.push_back(std::fabs(lgi_on(net, w, batch, draw, all.largest, options) - before));
      Point slope(w.size(), 0);
      net.add_gradient(w, batch.front(), 1, slope);
      all.steepest = std::max(all.steepest, norm(slope));
    }
  }
  return all;
}

/// ρ on many batches of one size.
std::vector<double> lgi_on_batches(const SmallNet& net, const Point& w, std::size_t size,
                                   const LongWork& options) {
  std::mt19937_64 generator(options.seed + 9);
  std::vector<double> values;
  double largest = 0;
  for (std::size_t draw = 0; draw < options.size<std::size_t>(10000, 2000); ++draw) {
    options.check_stop();
    values.push_back(lgi_on(net, w, draw_examples(size, generator), draw, largest, options));
  }
  return values;
}

}  // namespace

std::vector<Claim> check_batch(const LongWork& options) {
  constexpr double kRoot5 = 2.23606797749979;
  const auto draws = options.size<std::size_t>(400, 80);
  Claim slope{"batch.slope", "Lemma F.3",
              "|ρ(S) − ρ(S′)| = O(1/b) for batches of b that differ in one example, at sizes in use.",
              fmt::format("Slope of log mean |ρ−ρ′| in log b, b = 32 to 2048, k = 8, {} draws: at random "
                          "weights, and where the expected loss is stationary.",
                          draws)};
  Claim bound{"batch.bound", "Lemma F.3, last line of its proof", "|ρ − ρ′| ≤ (1/ε)·√(1+L²/ε²)·4Lβ√5/b.",
              "The largest |ρ − ρ′| over that bound, with the largest L and β met."};
  Claim relaxes{"batch.relaxes", "Section 6.5.2",
                "A larger batch smooths the loss, so that ρ drops and the brake relaxes.",
                "Mean ρ at b = 64 less that at b = 4; 0.02 or more counts as a drop."};
  for (const auto& net : nets())
    for (const bool stationary : {false, true}) {
      const auto w = stationary ? trained(net, options) : net.start(options.seed);
      const auto name = fmt::format("{}, {}", net.name(), stationary ? "stationary" : "random");
      options.say(name);
      const auto seen = look_at_batches(net, w, draws, options);
      slope.add(
          name, at_most(-1, 0.1),
          over_seeds(
              draws,
              [&](const std::vector<std::size_t>& some) {
                std::vector<double> means;
                for (const auto& each : seen.changes) means.push_back(mean_over(each, some));
                return power(seen.sizes, means);
              },
              options.seed),
          "Where the gradient vanishes, D itself shrinks as b^−1/2, so that one example "
          "changes ρ by b^−1/2. The lemma hides 1/ε² in its O: 1/b begins where D² ≪ ε = 1e-6, or where "
          "curvature outweighs the gradient.");
      double largest = 0;
      for (std::size_t i = 0; i < seen.sizes.size(); ++i)
        for (const double change : seen.changes[i]) largest = std::max(largest, change * seen.sizes[i]);
      const double constant = std::sqrt(1 + std::pow(seen.steepest / kPaperLgiEps, 2)) / kPaperLgiEps * 4 *
                              seen.steepest * seen.largest * kRoot5;
      bound.add(name, at_most(1), Estimate(largest / constant));
      if (name == "logistic, random")
        bound.setting += fmt::format(" It says nothing: at b = 128 the bound is {:.0e}, and no ρ is above 1.",
                                     constant / 128);
      const auto few = lgi_on_batches(net, w, 4, options);
      auto drops = lgi_on_batches(net, w, 64, options);
      const double many = mean_of(drops).value;
      for (std::size_t i = 0; i < drops.size(); ++i) drops[i] -= few[i];  // the same directions
      relaxes.add(name, at_most(-0.02), mean_of(drops),
                  fmt::format("Mean ρ is {:.3f} at b = 4 and {:.3f} at b = 64; 1 − 1/k = 0.875.",
                              mean_of(few).value, many));
    }
  return {slope, bound, relaxes};
}

// ---- twins ------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kTrainingSet = 100;
constexpr double kTwinRate = 0.01;

/// The two terms of Appendix F's ‖d − d′‖, from one state, for batches that differ in one example.
struct Terms {
  double kept = 0;     ///< α‖g − g′‖
  double dropped = 0;  ///< |α − α′|·‖g′‖
};

Terms terms_of_step(const SmallNet& net, std::size_t batch_size, std::uint64_t seed) {
  constexpr int kBefore = 50;
  std::mt19937_64 generator(seed);
  auto options = WalkOptions::paper(kTwinRate);
  options.seed = seed;
  const auto start = net.start(seed);
  Walk one(start, options), other(start, options);
  Examples batch;
  for (int t = 0; t < kBefore; ++t) {
    batch = draw_examples(batch_size, generator);
    step_on(one, net, batch);
    step_on(other, net, batch);
  }
  const auto before = one.at();
  batch = draw_examples(batch_size, generator);
  step_on(one, net, batch);
  batch.front() = draw_examples(1, generator).front();
  step_on(other, net, batch);
  const auto direction = [&](const Walk& walk) {
    return sum(Point(before.size(), 0), sum(walk.at(), before, -1), -1 / (kTwinRate * walk.brake()));
  };
  const auto g = direction(one);
  const auto g_of_other = direction(other);
  return {one.brake() * norm(sum(g, g_of_other, -1)),
          std::fabs(one.brake() - other.brake()) * norm(g_of_other)};
}

enum Kind { kAdam, kSAdam, kMatched };

/// What two runs that differ in one example of the training set come to.
struct Twins {
  double distance = 0;     ///< ‖w_T − w′_T‖
  double steps_apart = 0;  ///< Σ η‖d − d′‖
  double largest_brake = 0;
  double mean_brake = 0;
  double sensitivity = 0;  ///< the largest |ℓ(w; z) − ℓ(w′; z)|: β from below
  double gap = 0;          ///< expected loss less training loss
};

Twins run_twins(const SmallNet& net, Kind kind, double brake, std::uint64_t seed, int steps,
                const Examples& fresh) {
  constexpr std::size_t kBatch = 10;
  std::mt19937_64 generator(seed);
  const auto set = draw_examples(kTrainingSet, generator);
  auto changed = set;
  changed[generator() % kTrainingSet] = draw_examples(1, generator).front();
  auto options = kind == kSAdam ? WalkOptions::paper(kTwinRate) : WalkOptions::adam(kTwinRate);
  options.seed = seed;
  const auto start = net.start(seed);
  Walk one(start, options), other(start, options);
  if (kind == kMatched) {
    one.set_brake(brake);
    other.set_brake(brake);
  }
  Twins twins;
  for (int t = 0; t < steps; ++t) {
    Examples batch, twin;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const auto which = generator() % kTrainingSet;
      batch.push_back(set[which]);
      twin.push_back(changed[which]);
    }
    const auto apart = sum(one.at(), other.at(), -1);
    step_on(one, net, batch);
    step_on(other, net, twin);
    twins.steps_apart += norm(sum(sum(one.at(), other.at(), -1), apart, -1));
    twins.largest_brake = std::max(twins.largest_brake, one.brake());
    twins.mean_brake += one.brake() / steps;
  }
  twins.distance = norm(sum(one.at(), other.at(), -1));
  for (const auto& z : fresh)
    twins.sensitivity =
        std::max(twins.sensitivity, std::fabs(net.loss(one.at(), z) - net.loss(other.at(), z)));
  twins.gap = net.loss(one.at(), fresh) - net.loss(one.at(), set);
  return twins;
}

/// A ratio of means over pairs.
Estimate ratio_of(const std::vector<double>& above, const std::vector<double>& below, std::uint64_t seed) {
  return over_seeds(
      above.size(),
      [&](const std::vector<std::size_t>& some) { return mean_over(above, some) / mean_over(below, some); },
      seed);
}

Claim check_dropped_term(const LongWork& options) {
  const auto draws = options.size<std::size_t>(200, 60);
  Claim claim{"twins.dropped", "Appendix F", "When b is large, |α−α′|·‖g′‖ can be ignored beside α·‖g−g′‖.",
              fmt::format("The mean of the first over the mean of the second, one S-Adam step from one "
                          "state, {} draws. Ignored: at most 0.1.",
                          draws)};
  for (const auto& net : nets())
    for (const std::size_t size : {16, 64, 256}) {
      std::vector<double> kept, dropped;
      for (std::size_t i = 0; i < draws; ++i) {
        options.check_stop();
        const auto terms = terms_of_step(net, size, options.seed * 100000 + i);
        kept.push_back(terms.kept);
        dropped.push_back(terms.dropped);
      }
      claim.add(fmt::format("{}, b = {}", net.name(), size), at_most(0.1),
                ratio_of(dropped, kept, options.seed),
                "Both terms shrink as 1/b, so that their ratio does not.");
    }
  return claim;
}

}  // namespace

std::vector<Claim> check_twins(const LongWork& options) {
  const auto pairs = options.size<std::size_t>(400, 100);
  const auto steps = options.size(500, 300);
  const auto setting = fmt::format(
      "{} pairs of runs on 100 examples of which one differs: {} steps, batch 10, η = "
      "0.01, k = 2, λ = 2",
      pairs, steps);
  Claim bound{"twins.bound", "Appendix F, end",
              "Σ η‖d−d′‖ of S-Adam ≤ max α · Σ η‖d−d′‖ of Adam, so that β_S-Adam ≤ max α · C_Adam.",
              fmt::format("{}. Left over right.", setting)};
  Claim factor{"twins.factor", "Appendix F, end",
               "The factor max α makes the bound of S-Adam smaller than Adam's.",
               "The largest brake of a run; at most 0.9 counts as smaller."};
  Claim distance{"twins.distance", "Appendix F", "Twin runs of S-Adam end nearer to each other than Adam's.",
                 "E‖w_T − w′_T‖ of S-Adam over Adam's, of the same runs."};
  Claim control{"twins.matched", "Appendix F, last sentence; a control",
                "What steadies S-Adam is that it brakes where the loss is unstable.",
                "E‖w_T − w′_T‖ of S-Adam over that of Adam with its step times S-Adam's mean brake."};
  Claim gap{"twins.gap", "Theorem F.2", "E[expected loss − training loss] ≤ 2β.",
            "The gap over 2β, where β is taken from below: the mean over pairs of the largest change of "
            "a loss."};
  std::mt19937_64 generator(options.seed + 8);
  const auto fresh = draw_examples(2000, generator);
  for (const auto& net : nets()) {
    options.say(net.name());
    std::vector<std::vector<Twins>> all(3);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      options.check_stop();
      const auto seed = options.seed * 100000 + pair;
      all[kAdam].push_back(run_twins(net, kAdam, 1, seed, steps, fresh));
      all[kSAdam].push_back(run_twins(net, kSAdam, 1, seed, steps, fresh));
      all[kMatched].push_back(run_twins(net, kMatched, all[kSAdam].back().mean_brake, seed, steps, fresh));
    }
    const auto of = [&](Kind kind, double Twins::*field) {
      std::vector<double> values;
      for (const auto& twins : all[kind]) values.push_back(twins.*field);
      return values;
    };
    const auto brakes = of(kSAdam, &Twins::largest_brake);
    auto right = of(kAdam, &Twins::steps_apart);
    for (std::size_t i = 0; i < right.size(); ++i) right[i] *= brakes[i];
    const double mean_brake = mean_of(of(kSAdam, &Twins::mean_brake)).value;
    bound.add(net.name(), at_most(1), ratio_of(of(kSAdam, &Twins::steps_apart), right, options.seed),
              "The paths drift apart by more than the bound: the dropped term adds up.");
    factor.add(net.name(), at_most(0.9), mean_of(brakes),
               fmt::format("Some step always has ρ near 0; the mean brake is {:.3f}.", mean_brake));
    distance.add(net.name(), below(1),
                 ratio_of(of(kSAdam, &Twins::distance), of(kAdam, &Twins::distance), options.seed),
                 "S-Adam's twins end farther from each other.");
    control.add(net.name(), below(1),
                ratio_of(of(kSAdam, &Twins::distance), of(kMatched, &Twins::distance), options.seed),
                fmt::format("A constant brake of {:.3f} keeps twins nearer.", mean_brake));
    const std::vector<std::pair<Kind, std::string>> kinds = {
        {kAdam, "Adam"}, {kSAdam, "S-Adam"}, {kMatched, "matched"}};
    for (const auto& [kind, name] : kinds) {
      auto twice = of(kind, &Twins::sensitivity);
      for (auto& each : twice) each *= 2;
      gap.add(fmt::format("{}, {}", net.name(), name), at_most(1),
              ratio_of(of(kind, &Twins::gap), twice, options.seed), "The gap is wider than 2β.");
    }
  }
  return {check_dropped_term(options), bound, factor, distance, control, gap};
}

}  // namespace sadam::lab
