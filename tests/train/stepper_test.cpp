#include "train/stepper.h"

#include <gtest/gtest.h>
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <string>

namespace sadam::train {
namespace {

// A small network and data, the same each time.
struct Problem {
  torch::nn::Sequential net{nullptr};
  at::Tensor x, y;

  Problem() {
    torch::manual_seed(3);
    net = torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Dropout(0.25),
                                torch::nn::Linear(8, 3));
    x = torch::randn({12, 4});
    y = torch::randint(3, {12});
  }
  StepPart part(std::int64_t from, std::int64_t to, double share) {
    return {[this, from, to] {
              return torch::nn::functional::cross_entropy(
                  net->forward(x.slice(0, from, to)).to(torch::kDouble), y.slice(0, from, to));
            },
            share};
  }
  std::vector<at::Tensor> weights() const {
    std::vector<at::Tensor> copies;
    for (const auto& w : net->parameters()) copies.push_back(w.detach().clone());
    return copies;
  }
};

void expect_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << "parameter " << i;
}

double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  return largest;
}

// With clipping, accumulation and brakes of a control as in a plain step.
TEST(Stepper, ALossThatIsNotFiniteIsSkippedAndCountedAndChangesNothing) {
  for (const std::string name : {"adamw", "braked", "prox_sgd", "s_adam"})
    for (const double clip : {0.0, 1.0})
      for (const double bad : {std::nan(""), HUGE_VAL}) {
        const std::vector<double> brakes =
            name == "braked" ? std::vector<double>{0.5, 0.25} : std::vector<double>();
        Recipe recipe;
        recipe.optimizer.name = name == "braked" ? "adamw" : name;
        recipe.train.clip = clip;
        torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3));
        Stepper stepper(*net, recipe, brakes);
        const auto x = torch::randn({6, 4});
        const auto part = [&](double factor) {
          return StepPart{[&net, &x, factor] { return (net->forward(x) - 1).square().mean() + factor; }, 0.5};
        };
        stepper.step({part(1), part(1)}, 1e-3);
        const auto lgi = stepper.optimizer().summary().lgi;
        std::vector<at::Tensor> before;
        for (const auto& tensor : net->parameters()) before.push_back(tensor.detach().clone());
        for (const auto& tensor : net->buffers()) before.push_back(tensor.clone());
        const auto summary = stepper.step({part(1), part(bad)}, 1e-3);
        EXPECT_TRUE(summary.skipped) << name;
        EXPECT_EQ(summary.non_finite_loss, 1) << name;
        EXPECT_FALSE(std::isfinite(summary.loss)) << name;
        EXPECT_EQ(summary.lgi, lgi) << name;
        EXPECT_EQ(stepper.optimizer().totals().steps, 1) << name;
        EXPECT_EQ(stepper.optimizer().totals().skipped, 1) << name;
        std::vector<at::Tensor> after;
        for (const auto& tensor : net->parameters()) after.push_back(tensor.detach());
        for (const auto& tensor : net->buffers()) after.push_back(tensor);
        expect_equal(before, after);
        EXPECT_FALSE(stepper.step({part(1), part(1)}, 1e-3).skipped) << name;
      }
}

TEST(Stepper, TakesTheStepsOfTheLibrarysOptimizers) {
  Recipe recipe;
  recipe.optimizer.probes = 3;
  recipe.seed = 5;
  Problem ours;
  Stepper stepper(*ours.net, recipe, {});
  Problem theirs;
  SAdam optimizer(*theirs.net, SAdamOptions(1e-3).probes(3).seed(5));
  for (int i = 0; i < 4; ++i) {
    torch::manual_seed(10 + i);
    const auto summary = stepper.step({ours.part(0, 12, 1)}, 1e-3);
    torch::manual_seed(10 + i);
    optimizer.step(theirs.part(0, 12, 1).loss);
    EXPECT_EQ(summary.lgi, optimizer.summary().lgi);
    EXPECT_LT(summary.brake, 1);
  }
  expect_equal(ours.weights(), theirs.weights());
}

TEST(Stepper, AccumulationIsTheStepOnTheWholeBatch) {
  for (const char* name : {"sadam", "adamw", "prox_sgd"}) {
    Recipe recipe;
    recipe.optimizer.name = name;
    Problem whole;
    whole.net->eval();  // masks would differ between one batch and three
    Stepper whole_stepper(*whole.net, recipe, {});
    Problem split;
    split.net->eval();
    Stepper split_stepper(*split.net, recipe, {});
    for (int i = 0; i < 3; ++i) {
      const auto one = whole_stepper.step({whole.part(0, 12, 1)}, 1e-2);
      const auto three = split_stepper.step(
          {split.part(0, 5, 5.0 / 12), split.part(5, 10, 5.0 / 12), split.part(10, 12, 2.0 / 12)}, 1e-2);
      EXPECT_NEAR(one.loss, three.loss, 1e-6) << name;
      EXPECT_NEAR(one.lgi, three.lgi, 1e-3) << name;
    }
    EXPECT_LT(largest_difference(whole.weights(), split.weights()), 1e-5) << name;
  }
}

// Under shared noise the probes of an accumulated step replay the masks of all its parts: a linear loss then
// has no curvature to show, and masks that differed would.
TEST(Stepper, AnAccumulatedStepProbesOneFunction) {
  Recipe recipe;
  recipe.optimizer.statistic = "residual";
  recipe.optimizer.radius = 1e-3;
  Problem problem;
  Stepper stepper(*problem.net, recipe, {});
  const auto linear = [&](std::int64_t from, std::int64_t to) {
    return StepPart{
        [&, from, to] {
          const auto hidden = torch::dropout(problem.x.slice(0, from, to), 0.5, true);
          return (hidden.to(torch::kDouble).matmul(problem.net->parameters()[0].t().to(torch::kDouble)))
              .sum();
        },
        0.5};
  };
  const auto summary = stepper.step({linear(0, 6), linear(6, 12)}, 1e-3);
  EXPECT_TRUE(summary.probed);
  EXPECT_LT(summary.lgi, 1e-2);
}

TEST(Stepper, ClippingBoundsTheGradientAfterTheProbe) {
  Recipe recipe;
  recipe.optimizer.name = "prox_sgd";
  recipe.optimizer.momentum = 0;
  recipe.optimizer.l1 = 0;
  recipe.train.clip = 1e-3;
  Problem problem;
  Stepper stepper(*problem.net, recipe, {});
  const auto before = problem.weights();
  stepper.step({problem.part(0, 12, 1)}, 1.0);
  double squared = 0;
  const auto after = problem.weights();
  for (std::size_t i = 0; i < after.size(); ++i)
    squared += (after[i] - before[i]).square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(squared), 1e-3, 1e-5);
}

TEST(Stepper, AControlIsAdamWWithItsStepButNotItsDecayMultiplied) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.weight_decay = 0.1;
  Problem braked;
  Stepper stepper(*braked.net, recipe, {0.25, 1.0});
  Problem plain;
  AdamW adamw(*plain.net, AdamWOptions(1e-2).weight_decay(0.1));
  const auto start = plain.weights();
  torch::manual_seed(1);
  const auto summary = stepper.step({braked.part(0, 12, 1)}, 1e-2);
  torch::manual_seed(1);
  adamw.step(plain.part(0, 12, 1).loss);
  EXPECT_EQ(summary.brake, 0.25);
  EXPECT_FALSE(summary.probed);
  const auto after_braked = braked.weights();
  const auto after_plain = plain.weights();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const auto decayed = start[i] * (1 - 1e-2 * 0.1);
    EXPECT_TRUE(torch::allclose(after_braked[i] - decayed, 0.25 * (after_plain[i] - decayed), 1e-4, 1e-7));
  }
  EXPECT_EQ(stepper.step({braked.part(0, 12, 1)}, 1e-2).brake, 1.0);   // the next in the list
  EXPECT_EQ(stepper.step({braked.part(0, 12, 1)}, 1e-2).brake, 0.25);  // and from the first again
}

TEST(Stepper, TheLearningRateIsTheOneGiven) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.weight_decay = 0;
  Problem problem;
  Stepper stepper(*problem.net, recipe, {});
  const auto before = problem.weights();
  stepper.step({problem.part(0, 12, 1)}, 0);
  expect_equal(problem.weights(), before);
}

}  // namespace
}  // namespace sadam::train
