#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sadam/error.h>
#include <torch/torch.h>

#include <limits>

#include "train/stepper.h"

namespace sadam::train {
namespace {

torch::nn::Sequential small_net() {
  return torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 2));
}

void take_steps(torch::nn::Sequential& net, Stepper& stepper, int count) {
  for (int i = 0; i < count; ++i) {
    const auto x = torch::randn({8, 3});
    stepper.step({{[&] { return net->forward(x).square().mean(); }, 1}}, 1e-2);
  }
}

TEST(Checkpoint, BringsBackWeightsOptimizerGeneratorAndPosition) {
  torch::manual_seed(1);
  auto net = small_net();
  Stepper stepper(*net, {}, {});
  take_steps(net, stepper, 3);
  Position position;
  position.step = 3;
  position.loss_sum = 0.1;
  position.lgi_sum = std::numeric_limits<double>::quiet_NaN();
  position.events_bytes = 12345678901;
  const auto file = make_checkpoint(position, *net, stepper);
  take_steps(net, stepper, 2);

  torch::manual_seed(99);
  auto other = small_net();
  Stepper other_stepper(*other, {}, {});
  const auto found = load_checkpoint(file, *other, other_stepper);
  EXPECT_EQ(found.step, 3);
  EXPECT_EQ(found.loss_sum, 0.1);
  EXPECT_TRUE(std::isnan(found.lgi_sum));
  EXPECT_EQ(found.events_bytes, 12345678901);
  take_steps(other, other_stepper, 2);
  const auto a = net->parameters();
  const auto b = other->parameters();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << i;
  EXPECT_TRUE(torch::equal(net->buffers()[0], other->buffers()[0]));
}

TEST(Checkpoint, RefusesEveryDamagedByteBeforeAnythingIsParsed) {
  auto net = small_net();
  Stepper stepper(*net, {}, {});
  const auto file = make_checkpoint({}, *net, stepper);
  const auto before = net->parameters()[0].detach().clone();
  for (std::size_t i = 0; i < file.size(); i += file.size() / 50 + 1) {
    auto damaged = file;
    damaged[i] ^= std::byte{0x10};
    EXPECT_THROW(load_checkpoint(damaged, *net, stepper), Error) << "byte " << i;
  }
  EXPECT_TRUE(torch::equal(net->parameters()[0], before));
}

TEST(Checkpoint, RefusesTheCheckpointOfAnotherNetworkWithOneLine) {
  auto net = small_net();
  Stepper stepper(*net, {}, {});
  const auto file = make_checkpoint({}, *net, stepper);
  torch::nn::Sequential other(torch::nn::Linear(3, 4), torch::nn::Linear(4, 2), torch::nn::Linear(2, 2));
  Stepper other_stepper(*other, {}, {});
  try {
    load_checkpoint(file, *other, other_stepper);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sadam::train
