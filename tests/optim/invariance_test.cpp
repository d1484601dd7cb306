// What ρ must not depend on, over random functions and points.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "support/models.h"

namespace sadam {
namespace {

// A random piecewise-smooth function Σ a_i|w_i − c_i| + b_i w_i² around a random point.
struct Landscape {
  explicit Landscape(std::uint64_t seed, std::int64_t size) {
    torch::manual_seed(seed);
    point = torch::randn({size}, torch::kDouble);
    slopes = torch::randn({size}, torch::kDouble);
    kinks = point + 0.01 * torch::randn({size}, torch::kDouble);
    bends = torch::rand({size}, torch::kDouble);
  }
  torch::Tensor at(const torch::Tensor& w, const torch::Tensor& order) const {
    return (slopes.index({order}) * (w - kinks.index({order})).abs() + bends.index({order}) * w * w).sum();
  }
  torch::Tensor point;
  torch::Tensor slopes;
  torch::Tensor kinks;
  torch::Tensor bends;
};

Statistic any_statistic() {
  return *rc::gen::element(Statistic::variance, Statistic::unbiased_variance, Statistic::residual);
}

// ρ of the first step. Directions and function are permuted by `order`, the probes by `probe_order`.
double rho(const Landscape& landscape, Statistic statistic, const torch::Tensor& directions,
           const torch::Tensor& order, const torch::Tensor& probe_order, double constant) {
  auto w = landscape.point.index({order}).clone().set_requires_grad(true);
  SAdam optimizer({w},
                  SAdamOptions(0)
                      .probes(directions.size(0))
                      .statistic(statistic)
                      .source([&](const DirectionRequest& request) {
                        return directions[probe_order[request.probe].item<std::int64_t>()].index({order});
                      }));
  optimizer.step([&] { return landscape.at(w, order) + constant; });
  return optimizer.summary().lgi;
}

RC_GTEST_PROP(Invariance, OfRhoUnderAConstantReorderedProbesAndRelabelledParameters, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto probes = *rc::gen::inRange<std::int64_t>(2, 9);
  const auto statistic = any_statistic();
  const Landscape landscape(*rc::gen::inRange<std::uint64_t>(0, 1u << 30), size);
  const auto directions = torch::randn({probes, size}, torch::kDouble);
  const auto same = torch::arange(size);
  const auto same_probes = torch::arange(probes);
  const double plain = rho(landscape, statistic, directions, same, same_probes, 0);
  const double raised = rho(landscape, statistic, directions, same, same_probes, 4.5);
  const double reordered = rho(landscape, statistic, directions, same, torch::randperm(probes), 0);
  const double relabelled = rho(landscape, statistic, directions, torch::randperm(size), same_probes, 0);
  RC_ASSERT(std::abs(plain - reordered) <= 1e-12);
  // Sums taken in another order, and losses rounded at another place, reach ρ through (f(w+δu) − f(w))/δ.
  RC_ASSERT(std::abs(plain - relabelled) <= 1e-9);
  RC_ASSERT(std::abs(plain - raised) <= 1e-9);
}

}  // namespace
}  // namespace sadam
