#include "train/checkpoint.h"

#include <gtest/gtest.h>
#include <sadam/error.h>
#include <sadam/optimizer.h>
#include <torch/torch.h>

#include "support/refusal.h"
#include "train/training.h"

namespace sadam::train {
namespace {

torch::nn::Sequential small_net() {
  return torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 2));
}

Objective squares_of(torch::nn::Sequential net) {
  return {net.ptr(),
          [net](const TensorBatch& batch) mutable { return net->forward(batch[0]).square().mean(); },
          nullptr};
}

TensorBatch random_batch() { return {torch::randn({8, 3}), torch::zeros({8}, torch::kLong)}; }

void take_steps(Training& training, int count) {
  for (int i = 0; i < count; ++i) training.step({random_batch()}, 1e-2);
}

TEST(Checkpoint, BringsBackWeightsOptimizerGeneratorAndPosition) {
  torch::manual_seed(1);
  auto net = small_net();
  Training training(squares_of(net), {}, {});
  take_steps(training, 3);
  Position position;
  position.run.steps = 3;
  position.loss_sum = 0.1;
  position.recipe = "seed = 1\n";
  const auto file = make_checkpoint(position, *net, training);
  take_steps(training, 2);

  torch::manual_seed(99);
  auto other = small_net();
  Training other_training(squares_of(other), {}, {});
  const auto found = load_checkpoint(file, *other, other_training);
  EXPECT_EQ(found.step(), 3);
  EXPECT_EQ(found.loss_sum, 0.1);
  EXPECT_EQ(found.recipe, "seed = 1\n");
  take_steps(other_training, 2);
  const auto a = net->parameters();
  const auto b = other->parameters();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << i;
  EXPECT_TRUE(torch::equal(net->buffers()[0], other->buffers()[0]));
}

TEST(Checkpoint, RefusesEveryDamagedByteBeforeAnythingIsParsed) {
  auto net = small_net();
  Training training(squares_of(net), {}, {});
  const auto file = make_checkpoint({}, *net, training);
  const auto before = net->parameters()[0].detach().clone();
  for (std::size_t i = 0; i < file.size(); i += file.size() / 50 + 1) {
    auto damaged = file;
    damaged[i] ^= std::byte{0x10};
    EXPECT_THROW(load_checkpoint(damaged, *net, training), Error) << "byte " << i;
  }
  EXPECT_TRUE(torch::equal(net->parameters()[0], before));
}

TEST(Checkpoint, AnotherNetworkOrOptimizerIsRefusedInOneSentence) {
  auto net = small_net();
  Training training(squares_of(net), {}, {});
  const auto file = make_checkpoint({}, *net, training);
  const auto refusal = [&](torch::nn::Sequential other, const Recipe& recipe) {
    Training other_training(squares_of(other), recipe, {});
    return sadam::testing::refusal([&] { load_checkpoint(file, *other, other_training); });
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
  EXPECT_EQ(refusal(small_net(), recipe).find('\n'), std::string::npos);
}

TEST(Checkpoint, BrakesGoWithIt) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.control.kind = "shuffled";
  auto net = small_net();
  Training training(squares_of(net), recipe, {0.5, 0.25, 0.125});
  take_steps(training, 1);
  const auto file = make_checkpoint({}, *net, training);
  Training other(squares_of(net), recipe, {});
  load_checkpoint(file, *net, other);
  const auto step = [&] {
    take_steps(other, 1);
    return other.optimizer().summary();
  };
  EXPECT_EQ(step().brake, 0.25);
  EXPECT_EQ(step().brake, 0.125);
  EXPECT_EQ(step().brake, 0.5);
}

}  // namespace
}  // namespace sadam::train
