// ρ of functions whose ρ is known on paper.
#include <torch/types.h>

#include <gtest/gtest.h>

#include <cmath>

#include "support/plain_problem.h"

namespace sadam::step {
namespace {

constexpr double kPi = 3.14159265358979323846;

using Function = std::function<torch::Tensor(const torch::Tensor&)>;

struct Setting {
  std::int64_t probes = 2;
  Statistic statistic = Statistic::variance;
  double radius = 0.01;
  double eps = 0;
  Directions directions = Directions::sphere;
};

// What each of `rounds` steps found that go nowhere, at the same point along ever new directions.
std::vector<StepSummary> probed_at(const torch::Tensor& point, const Function& f, const Setting& setting,
                                   int rounds) {
  auto w = point.clone().set_requires_grad(true);
  auto problem = testing::plain_problem({{w}}, /*lr=*/0);
  problem.plan->probes = setting.probes;
  problem.plan->statistic = setting.statistic;
  problem.plan->radius = setting.radius;
  problem.plan->lgi_eps = setting.eps;
  problem.plan->directions = setting.directions;
  Engine engine;
  std::vector<StepSummary> found;
  for (int round = 0; round < rounds; ++round) {
    engine.step(problem, testing::asking_for({[&] { return f(w); }}));
    found.push_back(engine.summary());
  }
  EXPECT_TRUE(torch::equal(w, point));
  return found;
}

StepSummary probe_at(const torch::Tensor& point, const Function& f, const Setting& setting) {
  return probed_at(point, f, setting, 1).front();
}

double mean_lgi(const torch::Tensor& point, const Function& f, const Setting& setting, int rounds) {
  double sum = 0;
  for (const auto& summary : probed_at(point, f, setting, rounds)) sum += summary.lgi;
  return sum / rounds;
}

torch::Tensor l1(const torch::Tensor& x) { return x.abs().sum(); }

torch::Tensor at_origin(std::int64_t dimension) { return torch::zeros({dimension}, torch::kDouble); }

TEST(ClosedForm, ALinearFunctionHasOneMinusOneOverK) {
  // D_i is symmetric, so E[(ΣD)²/(kΣD²)] = 1/k in every dimension. A single ρ deviates by at most ½.
  for (std::int64_t dimension : {1, 2, 10, 300}) {
    const auto slope = torch::randn({dimension}, torch::kDouble);
    const auto linear = [&](const torch::Tensor& x) { return (slope * x).sum(); };
    for (std::int64_t k : {2, 8}) {
      const int rounds = 750;
      Setting setting;
      setting.probes = k;
      EXPECT_NEAR(1 - 1.0 / static_cast<double>(k), mean_lgi(at_origin(dimension), linear, setting, rounds),
                  5 * 0.5 / std::sqrt(rounds))
          << "dimension " << dimension << ", k " << k;
      setting.statistic = Statistic::residual;
      EXPECT_LT(mean_lgi(at_origin(dimension), linear, setting, 10), 1e-20) << "the residual sees no kink";
    }
  }
}

TEST(ClosedForm, AbsoluteValueAtItsKinkHasNone) {
  for (std::int64_t k : {1, 2, 8}) {
    Setting setting;
    setting.probes = k;
    // Both directions of the line rise by exactly δ.
    EXPECT_LT(probe_at(at_origin(1), l1, setting).lgi, 1e-20);
    setting.statistic = Statistic::residual;
    // The gradient that torch picks at 0 is 0 and explains nothing.
    EXPECT_NEAR(1, probe_at(at_origin(1), l1, setting).lgi, 1e-12);
  }
}

TEST(ClosedForm, TheL1NormAtItsKink) {
  // D = ‖u‖₁: E D = d·Γ(d/2)/(√π·Γ((d+1)/2)), E D² = 1 + (d−1)·2/π.
  for (std::int64_t dimension : {2, 3, 20}) {
    const auto d = static_cast<double>(dimension);
    const double mean = d * std::exp(std::lgamma(d / 2) - std::lgamma((d + 1) / 2)) / std::sqrt(kPi);
    const double square = 1 + (d - 1) * 2 / kPi;
    const double expected = 1 - mean * mean / square;
    Setting setting;
    setting.probes = 5000;
    // The relative error of a sample variance is about √(2/k) = 0.02.
    EXPECT_NEAR(expected, probe_at(at_origin(dimension), l1, setting).lgi, 0.06 * expected) << dimension;
    EXPECT_LT(expected, 0.02) << "near 0 where the paper wants it large";
  }
}

TEST(ClosedForm, RademacherCannotTellTheL1NormFromAConeAtItsKink) {
  Setting setting;
  setting.probes = 50;
  setting.directions = Directions::rademacher;
  EXPECT_LT(probe_at(at_origin(20), l1, setting).lgi, 1e-20);  // ‖u‖₁ = √d for every sign
}

TEST(ClosedForm, AQuadraticAwayFromItsMinimum) {
  // f = ½‖x‖²: D = ⟨x,u⟩ + δ/2, so Var = ‖x‖²/d and mean D² = ‖x‖²/d + δ²/4.
  for (std::int64_t dimension : {2, 5, 50}) {
    const auto point = torch::full({dimension}, 0.02, torch::kDouble);
    const double steepness = 0.02 * 0.02;  // ‖x‖²/d
    Setting setting;
    setting.probes = 5000;
    setting.radius = 0.04;
    setting.eps = 1e-4;
    const double expected = steepness / (steepness + setting.radius * setting.radius / 4 + setting.eps);
    const auto f = [](const torch::Tensor& x) { return 0.5 * (x * x).sum(); };
    EXPECT_NEAR(expected, probe_at(point, f, setting).lgi, 0.02) << dimension;
    // R = δ/2 for every direction.
    setting.statistic = Statistic::residual;
    const double residual = setting.radius * setting.radius / 4;
    EXPECT_NEAR(residual / (residual + steepness + setting.eps), probe_at(point, f, setting).lgi, 0.02)
        << dimension;
  }
}

TEST(ClosedForm, AQuadraticAtItsMinimum) {
  // f = ½xᵀAx at 0: D = δ/2·uᵀAu, E D = δ/2·tr A/d, E D² = δ²/4·(2 tr A² + (tr A)²)/(d(d+2)).
  const auto scales = torch::tensor({1.0, 2.0, 5.0, 0.5}, torch::kDouble);
  const auto f = [&](const torch::Tensor& x) { return 0.5 * (scales * x * x).sum(); };
  const double trace = 8.5;
  const double squares = 30.25;
  const double mean = trace / 4;
  const double square = (2 * squares + trace * trace) / 24;
  Setting setting;
  setting.probes = 5000;
  const double expected = 1 - mean * mean / square;
  EXPECT_NEAR(expected, probe_at(at_origin(4), f, setting).lgi, 0.05 * expected);
}

TEST(NoiseFloor, AnInfiniteProbeIsNoRounding) {
  Setting setting;
  const auto cliff = [](const torch::Tensor& x) {
    return (x.eq(0).all().item<bool>() ? 1.0 : HUGE_VAL) + x.sum();
  };
  const auto outcome = probe_at(torch::zeros({5}), cliff, setting);
  EXPECT_EQ(2, outcome.non_finite_probes);
  EXPECT_FALSE(outcome.within_noise);
}

TEST(NoiseFloor, SaysWhenTheDifferencesAreRounding) {
  const auto flat = [](const torch::Tensor& x) { return 1 + 1e-12 * x.sum(); };
  const auto steep = [](const torch::Tensor& x) { return 1 + x.sum(); };
  Setting setting;
  setting.probes = 4;
  EXPECT_TRUE(probe_at(torch::zeros({50}), flat, setting).within_noise);
  EXPECT_FALSE(probe_at(torch::zeros({50}), steep, setting).within_noise);
  EXPECT_FALSE(probe_at(
                   at_origin(50), [](const torch::Tensor& x) { return 1 + 1e-6 * x.sum(); }, setting)
                   .within_noise)
      << "float64 sees what float32 does not";
  EXPECT_TRUE(probe_at(
                  torch::zeros({50}),
                  [](const torch::Tensor& x) { return 1 + 1e-6 * x.sum().to(torch::kDouble); }, setting)
                  .within_noise)
      << "a sum in float64 makes nothing of float32 weights finer";
}

}  // namespace
}  // namespace sadam::step
