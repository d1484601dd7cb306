#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "step/probe_scope.h"
#include "support/models.h"
#include "support/plain_problem.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

// The passes of a step over given tensors, as the engine has them.
struct Passing {
  explicit Passing(const std::vector<torch::Tensor>& tensors, std::int64_t step = 3)
      : items(items_of({tensors})), numbers(at::kCPU, {1, 1, true}, {step, 0, 0}, {}) {
    for (auto& item : items) {
      if (!item.is_trained()) continue;
      ensure_moment(item.first_moment, item.parameter);
      ensure_moment(item.second_moment, item.parameter);
    }
    numbers.set_items(items);
    target.from = target.to = tensors;  // in place
    plan.seed = 7;
    plan.radius = 1;
  }
  Passes passes() const { return {*backend, numbers, items}; }
  Direction direction(std::int64_t probe = 0) const { return passes().direction(plan, probe, 0, {0, 1}); }
  double slope() const { return numbers.slope_tensor(0).item<double>(); }

  std::shared_ptr<Backend> backend = make_backend(at::kCPU);
  Items items;
  Numbers numbers;
  Target target;
  ProbePlan plan;
};

// u of one probe as the weights show it: with w₀ = 0 and δ = 1, w becomes u.
torch::Tensor direction_over(const std::vector<torch::Tensor>& tensors, Directions directions,
                             std::int64_t probe = 0, std::int64_t step = 3) {
  for (auto tensor : tensors) tensor.zero_();
  Passing passing(tensors, step);
  passing.plan.directions = directions;
  passing.passes().move(passing.plan, passing.direction(probe), passing.target);
  std::vector<torch::Tensor> flat;
  for (const auto& tensor : tensors) flat.push_back(tensor.reshape({-1}).clone());
  return torch::cat(flat);
}

class EveryRandomDirection : public ::testing::TestWithParam<Directions> {};
INSTANTIATE_TEST_SUITE_P(Laws, EveryRandomDirection,
                         ::testing::Values(Directions::sphere, Directions::per_tensor,
                                           Directions::rademacher),
                         [](const auto& law) { return to_string(law.param); });

TEST_P(EveryRandomDirection, IsTheSameForOneAndTwoThreads) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = direction_over({torch::empty({100003}), torch::empty({17})}, GetParam());
  at::set_num_threads(2);
  const auto two = direction_over({torch::empty({100003}), torch::empty({17})}, GetParam());
  at::set_num_threads(threads);
  expect_same_bits({one}, {two});
}

TEST_P(EveryRandomDirection, DependsOnProbeAndStep) {
  const auto u = direction_over({torch::empty({1000})}, GetParam(), 0, 3);
  EXPECT_FALSE(torch::equal(u, direction_over({torch::empty({1000})}, GetParam(), 1, 3)));
  EXPECT_FALSE(torch::equal(u, direction_over({torch::empty({1000})}, GetParam(), 0, 4)));
  EXPECT_TRUE(torch::equal(u, direction_over({torch::empty({1000})}, GetParam(), 0, 3)));
}

TEST_P(EveryRandomDirection, FollowsTheLogicalIndexWhateverTheStrides) {
  const auto plain = direction_over({torch::empty({4, 3, 5, 7}), torch::empty({9})}, GetParam());
  const auto channels_last = torch::empty({4, 3, 5, 7}).contiguous(torch::MemoryFormat::ChannelsLast);
  expect_same_bits({plain}, {direction_over({channels_last, torch::empty({9})}, GetParam())});
  const auto with_gaps = torch::empty({4, 3, 5, 14}).slice(3, 0, 14, 2);
  ASSERT_FALSE(with_gaps.is_non_overlapping_and_dense());
  expect_same_bits({plain}, {direction_over({with_gaps, torch::empty({9})}, GetParam())});
}

TEST(Directions, AnySplitIntoTensorsGivesTheSameSphereAndRademacher) {
  for (auto law : {Directions::sphere, Directions::rademacher}) {
    const auto whole = direction_over({torch::empty({1111})}, law);
    for (std::int64_t cut : {1, 16, 63, 64, 65, 500, 1110}) {
      const auto split = direction_over({torch::empty({cut}), torch::empty({1111 - cut})}, law);
      expect_same_bits({whole}, {split});
    }
    expect_same_bits({whole}, {direction_over({torch::empty({11, 101})}, law)});
  }
}

TEST(Directions, HaveUnitLength) {
  for (auto type : {torch::kFloat, torch::kDouble}) {
    // Dividing by ‖z‖ + 1e-12, as the authors do, costs the tensor up to 1e-12/‖z‖.
    const double tolerance = type == torch::kFloat ? 1e-6 : 1e-11;
    const auto length = [](const torch::Tensor& u) { return u.to(torch::kDouble).norm().item<double>(); };
    for (std::int64_t n : {1, 2, 3, 50, 1000, 70001}) {
      const auto empty = [&](std::int64_t count) { return torch::empty({count}, type); };
      EXPECT_NEAR(1, length(direction_over({empty(n)}, Directions::sphere)), tolerance) << n;
      EXPECT_NEAR(1, length(direction_over({empty(n), empty(5)}, Directions::sphere)), tolerance) << n;
      EXPECT_NEAR(1, length(direction_over({empty(n)}, Directions::rademacher)), tolerance) << n;
      const auto pair = direction_over({empty(n), empty(5)}, Directions::per_tensor);
      EXPECT_NEAR(1, length(pair.slice(0, 0, n)), tolerance) << n;
      EXPECT_NEAR(1, length(pair.slice(0, n)), tolerance) << n;
    }
  }
}

TEST(Directions, AgreeBetweenFloatAndDouble) {
  const auto single = direction_over({torch::empty({5000})}, Directions::sphere);
  const auto twice = direction_over({torch::empty({5000}, torch::kDouble)}, Directions::sphere);
  EXPECT_LT((single.to(torch::kDouble) - twice).abs().max().item<double>(), 1e-7);
}

TEST(Directions, SlopeIsTheInnerProductWithTheGradient) {
  for (auto law : {Directions::sphere, Directions::per_tensor, Directions::rademacher}) {
    for (bool permuted : {false, true}) {
      auto block = torch::zeros({3, 40, 11}, torch::kDouble);
      auto first = permuted ? block.permute({2, 0, 1}) : block.reshape({11, 3, 40});
      const auto gradient = torch::randn({11, 3, 40}, torch::kDouble);
      first.mutable_grad() = gradient;
      const auto second = torch::zeros({77}, torch::kDouble);  // has no gradient
      Passing passing({first, second});
      passing.plan.directions = law;
      const auto u = passing.direction();
      passing.passes().move(passing.plan, u, passing.target);
      passing.passes().add_slope(passing.plan, u, 0);
      EXPECT_NEAR((gradient * first).sum().item<double>(), passing.slope(), 1e-12);
      EXPECT_NE(0, passing.slope());
    }
  }
}

TEST(Directions, StepMovesToWhereAdamWouldGo) {
  for (bool with_gaps : {false, true}) {
    auto w = torch::randn({6, 4}, torch::kDouble);
    if (with_gaps) w = torch::randn({6, 8}, torch::kDouble).slice(1, 0, 8, 2);
    const auto before = w.clone();
    const auto g = torch::randn({6, 4}, torch::kDouble);
    w.mutable_grad() = g;
    const auto stays = torch::ones({5}, torch::kDouble);  // has no gradient
    Passing passing({w, stays});
    const auto m = passing.items[0].first_moment.copy_(torch::randn_like(w)).clone();
    const auto v = passing.items[0].second_moment.copy_(torch::rand_like(w)).clone();
    passing.numbers.state().parameters[0].coefficients = {0.9, 0.99, 1e-8, 1.25, 0.1, 0.5};
    const auto delta = -0.1 * (0.9 * m + 0.1 * g) / (1.25 * (0.99 * v + 0.01 * g * g).sqrt() + 1e-8);
    Lane lane;
    {
      const ProbeScope scope(*passing.backend, lane, /*in_place=*/true, passing.items, {0, 1}, nullptr);
      passing.passes().move_along_step(0, {0, 1}, scope.target());
      EXPECT_LT((w - before - delta).abs().max().item<double>(), 1e-14);
      EXPECT_NEAR((g * delta).sum().item<double>(), passing.slope(), 1e-12);
      EXPECT_TRUE(torch::equal(stays, torch::ones({5}, torch::kDouble)));
    }
    expect_same_bits({before}, {w});
    const ProbeScope scope(*passing.backend, lane, /*in_place=*/false, passing.items, {0, 1}, nullptr);
    passing.passes().move_along_step(0, {0, 1}, scope.target());
    EXPECT_LT((scope.target().to[0] - before - delta).abs().max().item<double>(), 1e-14);
    EXPECT_TRUE(torch::equal(scope.target().to[1], stays)) << "one without a gradient is copied";
    expect_same_bits({before}, {w});
  }
}

}  // namespace
}  // namespace sadam::step
