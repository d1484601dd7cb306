#include "nn/layers.h"

#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

/// What goes through `f`, and the gradient that comes back.
template <class F>
std::vector<torch::Tensor> both_ways(const torch::Tensor& x, const F& f) {
  const auto leaf = x.detach().clone().requires_grad_(true);  // keeps the format
  const auto y = f(leaf);
  torch::manual_seed(3);
  y.backward(torch::randn(y.sizes(), y.options()));
  return {y, leaf.grad()};
}

void expect_as_torch(const torch::Tensor& x) {
  const auto expected =
      both_ways(x, [](const torch::Tensor& t) { return torch::max_pool2d(torch::relu(t), 2); });
  const auto actual = both_ways(x, pool_relu);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(expected[i], actual[i])) << i << x.sizes();
  const torch::NoGradGuard guard;
  EXPECT_TRUE(torch::equal(expected[0], pool_relu(x)));
}

TEST(PoolRelu, IsReluThenPoolWithItsGradient) {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {2, 16, 30, 30}, {3, 32, 13, 13}, {1, 5, 2, 7}, {2, 1, 9, 2}, {70, 16, 31, 30}}) {
      const auto x = torch::randn(shape, type);
      for (const auto& values : {x, x.round(), -x.abs(), torch::zeros_like(x)}) {  // with ties, nothing left
        expect_as_torch(values);
        expect_as_torch(values.contiguous(kChannelsLast));
      }
    }
  }
}

TEST(PoolRelu, KeepsChannelsLast) {
  const auto x = torch::randn({2, 16, 7, 9}).contiguous(kChannelsLast);
  EXPECT_TRUE(pool_relu(x).is_contiguous(kChannelsLast));
  EXPECT_TRUE(both_ways(x, pool_relu)[1].is_contiguous(kChannelsLast));
}

TEST(PoolRelu, KeepsNaN) {
  auto x = torch::ones({1, 4, 2, 2}).contiguous(kChannelsLast);
  x[0][1][1][0] = std::numeric_limits<float>::quiet_NaN();
  const auto nans = pool_relu(x).isnan().flatten();
  EXPECT_TRUE(torch::equal(torch::tensor({false, true, false, false}), nans));
}

TEST(PoolRelu, RefusesASecondDerivative) {
  const auto x = torch::rand({1, 4, 2, 2}).contiguous(kChannelsLast).requires_grad_(true);
  const auto y = pool_relu(x).square().sum();
  expect_refused([&] { torch::autograd::grad({y}, {x}, {}, true, true); },
                 {"second derivative", "create_graph"});
  torch::autograd::grad({y}, {x}, {}, true, false);
}

}  // namespace
}  // namespace sadam::nn
