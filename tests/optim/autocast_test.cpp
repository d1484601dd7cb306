// Torch keeps casts of weights for the evaluations to come: a step makes them outdated.
#include <ATen/autocast_mode.h>

#include "step/precision.h"
#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

template <class Optimizer>
void expect_new_casts_after_a_step(Optimizer&& optimizer, const torch::Tensor& weights) {
  const step::PrecisionState before;
  step::use_autocast(/*cuda=*/false, at::kBFloat16);
  const auto cast = [&] { return at::autocast::cached_cast(at::kBFloat16, weights, at::kCPU); };
  const auto old = cast();
  EXPECT_EQ(old.data_ptr(), cast().data_ptr()) << "is kept";
  optimizer.step([&] { return weights.square().sum(); });
  EXPECT_FALSE(torch::equal(old, cast()));
  EXPECT_TRUE(torch::equal(cast(), weights.to(at::kBFloat16)));
  before.restore();
  at::autocast::clear_cache();
}

TEST(Autocasting, SeesTheWeightsOfTheLastStep) {
  const auto weights = torch::ones({3}, torch::requires_grad());
  const std::vector<torch::Tensor> all = {weights};
  expect_new_casts_after_a_step(AdamW(all, AdamWOptions(0.5)), weights);
  expect_new_casts_after_a_step(ProxSGD(all, ProxSGDOptions(0.1)), weights);
  expect_new_casts_after_a_step(SAdam(all, SAdamOptions(0.5)), weights);
}

// A group is compared with f(w) as it was before the step, not after the other group's update, whatever the
// precision.
TEST(Autocasting, DoesNotMoveTheBaseOfGroupsThatTakeTurns) {
  for (const double first_damping : {2.0, 0.0}) {
    std::vector<StepSummary> seen;
    std::vector<torch::Tensor> weights;
    for (const bool autocasts : {false, true}) {
      auto a = torch::ones({30}, torch::kDouble).set_requires_grad(true);
      auto b = torch::ones({30}, torch::kDouble).set_requires_grad(true);
      std::vector<torch::optim::OptimizerParamGroup> groups;
      groups.emplace_back(
          std::vector<torch::Tensor>{a},
          std::make_unique<SAdamOptions>(SAdamOptions::reference(0.1).damping(first_damping)));
      groups.emplace_back(std::vector<torch::Tensor>{b});
      SAdam optimizer(groups, SAdamOptions::reference(0.1));
      const step::PrecisionState before;
      if (autocasts) step::use_autocast(/*cuda=*/false, at::kBFloat16);
      for (int i = 0; i < 3; ++i) optimizer.step([&] { return a.abs().sum() + (b * b).sum(); });
      before.restore();
      seen.push_back(optimizer.summary());
      weights.push_back(torch::cat({a, b}).detach());
    }
    EXPECT_EQ(seen[0].differences.size(), first_damping > 0 ? 4U : 2U);
    EXPECT_EQ(seen[0].differences, seen[1].differences);
    EXPECT_EQ(seen[0].loss, seen[1].loss);
    EXPECT_TRUE(torch::equal(weights[0], weights[1]));
  }
}

TEST(Autocasting, OfGroupsThatTakeTurnsIsSkippedWhereFullPrecisionIsNotFinite) {
  auto a = torch::ones({3}).set_requires_grad(true);
  auto b = torch::ones({3}).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a},
                      std::make_unique<SAdamOptions>(SAdamOptions::reference(0.1).damping(0)));
  groups.emplace_back(std::vector<torch::Tensor>{b});
  SAdam optimizer(groups, SAdamOptions::reference(0.1));
  const step::PrecisionState before;
  step::use_autocast(/*cuda=*/false, at::kBFloat16);
  int calls = 0;
  optimizer.step([&] {
    const auto loss = a.sum() + b.sum();
    return ++calls == 1 ? loss : loss / 0.0;
  });
  before.restore();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(optimizer.totals().skipped, 1);
  EXPECT_TRUE(torch::equal(a, torch::ones({3})));
  EXPECT_TRUE(torch::equal(b, torch::ones({3})));
}

}  // namespace
}  // namespace sadam
