#include "nn/layers.h"

#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

TEST(ByteDropout, DropsItsShareWhereverAnElementLies) {
  for (const double p : {0.25, 0.5, 1.0 / 256}) {
    const std::int64_t n = 80000;
    const auto y = byte_dropout(torch::ones({n}), p, true);
    EXPECT_TRUE(torch::logical_or(y.eq(0), y.eq(static_cast<float>(1 / (1 - p)))).all().item<bool>());
    // Eight elements share a word: each of its bytes must do its part.
    const auto shares = y.eq(0).view({n / 8, 8}).to(torch::kDouble).mean(0);
    const double deviation = std::sqrt(p * (1 - p) / (n / 8.0));
    EXPECT_LT((shares - p).abs().max().item<double>(), 5 * deviation) << p;
  }
}

TEST(ByteDropout, NeighboursAreIndependent) {
  const auto dropped = byte_dropout(torch::ones({80000}), 0.25, true).eq(0).to(torch::kDouble);
  for (const std::int64_t distance : {1, 2, 4, 8}) {
    const auto both = dropped.narrow(0, 0, 79000) * dropped.narrow(0, distance, 79000);
    EXPECT_NEAR(1.0 / 16, both.mean().item<double>(), 0.005) << distance;
  }
}

TEST(ByteDropout, TheGeneratorReplaysTheMask) {
  const auto x = torch::randn({13, 7});
  const auto before = generator_state();
  const auto first = byte_dropout(x, 0.25, true);
  EXPECT_FALSE(torch::equal(first, byte_dropout(x, 0.25, true)));
  auto generator = at::detail::getDefaultCPUGenerator();
  generator.set_state(before);
  expect_same_bits({first}, {byte_dropout(x, 0.25, true)});
}

TEST(ByteDropout, TheGradientGoesThroughTheMask) {
  const auto x = torch::ones({5, 11}, torch::TensorOptions(torch::kDouble).requires_grad(true));
  const auto y = byte_dropout(x, 0.25, true);
  y.sum().backward();
  expect_same_bits({y}, {x.grad()});
}

TEST(ByteDropout, OtherSharesAreTorchs) {
  const auto x = torch::randn({100});
  torch::manual_seed(5);
  const auto expected = torch::dropout(x, 0.3, true);
  torch::manual_seed(5);
  expect_same_bits({expected}, {byte_dropout(x, 0.3, true)});
}

TEST(ByteDropout, DoesNothingOutsideTrainingOrWithoutAShare) {
  const auto x = torch::randn({100});
  expect_same_bits({x, x}, {byte_dropout(x, 0.25, false), byte_dropout(x, 0, true)});
  EXPECT_EQ(torch::IntArrayRef({0, 4}), byte_dropout(torch::empty({0, 4}), 0.25, true).sizes());
}

}  // namespace
}  // namespace sadam::nn
