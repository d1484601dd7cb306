// Torch keeps casts of weights for the evaluations to come: a step makes them outdated.
#include <ATen/autocast_mode.h>

#include "probe/precision.h"
#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

template <class Optimizer>
void expect_new_casts_after_a_step(Optimizer&& optimizer, const torch::Tensor& weights) {
  const probe::PrecisionState before;
  probe::use_autocast(/*cuda=*/false, at::kBFloat16);
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

}  // namespace
}  // namespace sadam
