#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sadam/error.h>
#include <torch/torch.h>

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
  position.run.steps = 3;
  position.loss_sum = 0.1;
  position.recipe = "seed = 1\n";
  const auto file = make_checkpoint(position, *net, stepper);
  take_steps(net, stepper, 2);

  torch::manual_seed(99);
  auto other = small_net();
  Stepper other_stepper(*other, {}, {});
  const auto found = load_checkpoint(file, *other, other_stepper);
  EXPECT_EQ(found.step(), 3);
  EXPECT_EQ(found.loss_sum, 0.1);
  EXPECT_EQ(found.recipe, "seed = 1\n");
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

TEST(Checkpoint, AnotherNetworkOrOptimizerIsRefusedInOneSentence) {
  auto net = small_net();
  Stepper stepper(*net, {}, {});
  const auto file = make_checkpoint({}, *net, stepper);
  const auto refusal = [&](torch::nn::Sequential other, const Recipe& recipe) -> std::string {
    Stepper other_stepper(*other, recipe, {});
    try {
      load_checkpoint(file, *other, other_stepper);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  using torch::nn::Linear;
  EXPECT_EQ(
      refusal(torch::nn::Sequential(Linear(3, 4), torch::nn::BatchNorm1d(4), Linear(4, 2), Linear(2, 2)), {}),
      "the checkpoint is of another network: use it with the one that it was made with.");
  EXPECT_EQ(refusal(torch::nn::Sequential(Linear(3, 5), torch::nn::BatchNorm1d(5), Linear(5, 2)), {}),
            "the checkpoint is of another network (0.weight has another shape there): use it with the one "
            "that it was "
            "made with.");
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  const auto sentence = refusal(small_net(), recipe);
  EXPECT_FALSE(sentence.empty());
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

TEST(Checkpoint, BrakesGoWithIt) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.control.kind = "shuffled";
  auto net = small_net();
  Stepper stepper(*net, recipe, {0.5, 0.25, 0.125});
  take_steps(net, stepper, 1);
  const auto file = make_checkpoint({}, *net, stepper);
  Stepper other(*net, recipe, {});
  load_checkpoint(file, *net, other);
  const auto x = torch::randn({8, 3});
  const auto step = [&] { return other.step({{[&] { return net->forward(x).square().mean(); }, 1}}, 1e-2); };
  EXPECT_EQ(step().brake, 0.25);
  EXPECT_EQ(step().brake, 0.125);
  EXPECT_EQ(step().brake, 0.5);
}

}  // namespace
}  // namespace sadam::train
