// A model is given as a user has it: a holder of torch's, or one of their own.
#include <sadam/sadam.h>

#include "support/models.h"

namespace sadam {
namespace {

struct OwnNetImpl : torch::nn::Module {
  OwnNetImpl() : layer(register_module("layer", torch::nn::Linear(2, 1))) {}
  torch::Tensor forward(const torch::Tensor& x) { return layer(x); }
  torch::nn::Linear layer;
};
TORCH_MODULE(OwnNet);

template <class Optimizer, class Model>
bool trains(Model model) {
  Optimizer optimizer(model, 0.1);
  const auto x = torch::ones({4, 2});
  const auto loss = [&] { return model->forward(x).square().mean(); };
  const auto before = optimizer.step(loss).template item<double>();
  for (int i = 0; i < 20; ++i) optimizer.step(loss);
  return loss().template item<double>() < before && optimizer.totals().steps == 21;
}

template <class Optimizer>
class EveryModel : public ::testing::Test {};
using AllOptimizers = ::testing::Types<SAdam, AdamW, ProxSGD>;
TYPED_TEST_SUITE(EveryModel, AllOptimizers);

TYPED_TEST(EveryModel, IsTrained) {
  torch::manual_seed(1);
  EXPECT_TRUE(trains<TypeParam>(torch::nn::Sequential(torch::nn::Linear(2, 3), torch::nn::Linear(3, 1))));
  EXPECT_TRUE(trains<TypeParam>(torch::nn::Linear(2, 1)));
  EXPECT_TRUE(trains<TypeParam>(OwnNet()));
}

}  // namespace
}  // namespace sadam
