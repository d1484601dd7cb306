#include "train/training.h"

#include <gtest/gtest.h>
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <cmath>
#include <string>

#include "support/models.h"

namespace sadam::train {
namespace {

// Drawn one by one, in the order of the elements: batches draw what the whole of them would.
at::Tensor dropped(const at::Tensor& x) { return x * torch::rand(x.sizes()).gt(0.25) / 0.75; }

// A small network and data, the same each time.
struct Problem {
  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::Sequential net{nullptr};
  at::Tensor x, y;
  bool drops = true;

  Problem() {
    torch::manual_seed(3);
    first = torch::nn::Linear(4, 8);
    last = torch::nn::Linear(8, 3);
    net = torch::nn::Sequential(first, last);
    x = torch::randn({12, 4});
    y = torch::randint(3, {12});
  }
  TensorBatch batch(std::int64_t from, std::int64_t to) const {
    return {x.slice(0, from, to), y.slice(0, from, to)};
  }
  at::Tensor loss(const TensorBatch& batch) {
    auto hidden = torch::relu(first->forward(batch[0]));
    if (drops) hidden = dropped(hidden);
    return torch::nn::functional::cross_entropy(last->forward(hidden).to(torch::kDouble), batch[1]);
  }
  Objective objective() {
    return {net.ptr(), [this](const TensorBatch& batch) { return loss(batch); }, nullptr};
  }
  std::vector<at::Tensor> weights() const { return testing::copies(net->parameters()); }
};

StepSummary step(Training& training, const std::vector<TensorBatch>& batches, double lr) {
  training.step(batches, lr);
  return training.optimizer().summary();
}

double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  return largest;
}

// ---- steps that are skipped -------------------------------------------------------------------------------

// How a training is set up, and what is wrong with its second step.
struct BadStep {
  std::string optimizer;  // "control": AdamW with brakes
  double clip;
  int batches;
  std::string fault;
};

// A network with buffers. The third tensor of a batch is added to the loss, the fourth spoils its gradient.
struct SkippedSteps {
  torch::nn::Sequential net{torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3)};
  Training training;

  SkippedSteps(const BadStep& bad, const std::vector<double>& brakes)
      : training(objective(), recipe_for(bad), bad.optimizer == "control" ? brakes : std::vector<double>()) {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(4);
    for (auto& parameter : net->parameters()) parameter.copy_(torch::randn(parameter.sizes()));
  }
  static Recipe recipe_for(const BadStep& bad) {
    Recipe recipe;
    recipe.optimizer.name = bad.optimizer == "control" ? "adamw" : bad.optimizer;
    recipe.train.clip = bad.clip;
    recipe.train.accumulate = bad.batches;
    return recipe;
  }
  Objective objective() {
    return {net.ptr(),
            [this](const TensorBatch& batch) {
              const auto loss = (net->forward(batch[0]) - 1).square().mean() + batch[2];
              if (batch[3].item<float>() == 0) return loss;
              return loss + (0 * net->parameters()[0].sum()).sqrt();  // 0, with a gradient of 0 · ∞
            },
            nullptr};
  }
  StepSummary take(const BadStep& bad, const std::string& fault) {
    std::vector<TensorBatch> batches;
    for (int i = 0; i < bad.batches; ++i) {
      torch::manual_seed(20 + i);
      const bool faulty = i + 1 == bad.batches;
      const auto added = !faulty ? 0 : fault == "NaN" ? std::nan("") : fault == "infinite" ? HUGE_VAL : 0;
      batches.push_back({torch::randn({6, 4}), torch::zeros({6}, torch::kLong), torch::tensor(added),
                         torch::tensor(faulty && fault == "gradient" ? 1.0F : 0.0F)});
    }
    return step(training, batches, 1e-3);
  }
  std::vector<at::Tensor> state() const {
    auto tensors = net->parameters();
    for (const auto& buffer : net->buffers()) tensors.push_back(buffer);
    return testing::copies(tensors);
  }
};

void expect_skipped(const BadStep& bad) {
  SkippedSteps spoiled(bad, {0.5, 0.25, 0.125});
  const auto lgi = spoiled.take(bad, "").lgi;
  const auto before = spoiled.state();
  const auto summary = spoiled.take(bad, bad.fault);
  EXPECT_TRUE(summary.skipped);
  EXPECT_EQ(summary.non_finite_loss, bad.fault == "gradient" ? 0 : 1);
  EXPECT_EQ(summary.non_finite_gradient > 0, bad.fault == "gradient");
  EXPECT_EQ(std::isfinite(summary.loss), bad.fault == "gradient");
  EXPECT_FALSE(summary.probed);
  EXPECT_EQ(summary.lgi, lgi);
  EXPECT_EQ(spoiled.training.optimizer().totals().steps, 1);
  EXPECT_EQ(spoiled.training.optimizer().totals().skipped, 1);
  testing::expect_same_bits(before, spoiled.state());
  // The optimizer goes on as if the step had not been; only a control has used up its brake.
  EXPECT_FALSE(spoiled.take(bad, "").skipped);
  SkippedSteps unspoiled(bad, {0.5, 0.125});
  unspoiled.take(bad, "");
  unspoiled.take(bad, "");
  testing::expect_same_bits(unspoiled.state(), spoiled.state());
}

TEST(Training, ALossThatIsNotFiniteIsSkippedAndCountedAndChangesNothing) {
  for (const char* optimizer : {"adamw", "control", "prox_sgd", "sadam"})
    for (const double clip : {0.0, 1.0})
      for (const int batches : {1, 2, 3})
        for (const char* fault : {"NaN", "infinite", "gradient"}) {
          SCOPED_TRACE(std::string(optimizer) + ", clip " + std::to_string(clip) + ", " +
                       std::to_string(batches) + " batches, " + fault);
          expect_skipped({optimizer, clip, batches, fault});
        }
}

// ---- steps that are not -----------------------------------------------------------------------------------

TEST(Training, TakesTheStepsOfTheLibrarysOptimizers) {
  Recipe recipe;
  recipe.optimizer.probes = 3;
  recipe.seed = 5;
  Problem ours;
  Training training(ours.objective(), recipe, {});
  Problem theirs;
  SAdam optimizer(*theirs.net, SAdamOptions(1e-3).probes(3).seed(5));
  for (int i = 0; i < 4; ++i) {
    torch::manual_seed(10 + i);
    const auto summary = step(training, {ours.batch(0, 12)}, 1e-3);
    torch::manual_seed(10 + i);
    optimizer.step([&] { return theirs.loss(theirs.batch(0, 12)); });
    EXPECT_EQ(summary.lgi, optimizer.summary().lgi);
    EXPECT_LT(summary.brake, 1);
  }
  testing::expect_same_bits(ours.weights(), theirs.weights());
  EXPECT_EQ(training.way_of_stepping(), "");
}

// With dropout, too, under shared noise: the probes of an accumulated step see the masks of all its batches.
TEST(Training, AccumulationIsTheStepOnTheWholeBatch) {
  for (const bool drops : {false, true})
    for (const char* name : {"sadam", "adamw", "prox_sgd"})
      for (const char* statistic : {"variance", "residual"}) {
        SCOPED_TRACE(std::string(name) + ", " + statistic + (drops ? ", dropout" : ""));
        Recipe recipe;
        recipe.optimizer.name = name;
        recipe.optimizer.statistic = statistic;
        Problem whole;
        whole.drops = drops;
        Training on_whole(whole.objective(), recipe, {});
        Problem split;
        split.drops = drops;
        Training on_split(split.objective(), recipe, {});
        for (int i = 0; i < 3; ++i) {
          torch::manual_seed(30 + i);
          const auto one = step(on_whole, {whole.batch(0, 12)}, 1e-2);
          torch::manual_seed(30 + i);
          const auto three =
              step(on_split, {split.batch(0, 5), split.batch(5, 10), split.batch(10, 12)}, 1e-2);
          EXPECT_NEAR(one.loss, three.loss, 1e-6);
          EXPECT_NEAR(one.lgi, three.lgi, 1e-3);
          EXPECT_NEAR(one.brake, three.brake, 1e-3);
          EXPECT_EQ(one.probed, std::string(name) == "sadam");
        }
        EXPECT_LT(largest_difference(whole.weights(), split.weights()), 1e-5);
      }
}

// A linear loss has no curvature to show, and masks that differed between the evaluations would.
TEST(Training, AnAccumulatedStepProbesOneFunction) {
  Recipe recipe;
  recipe.optimizer.statistic = "residual";
  recipe.optimizer.radius = 1e-3;
  Problem problem;
  auto objective = problem.objective();
  objective.loss = [&](const TensorBatch& batch) {
    const auto hidden = torch::dropout(batch[0], 0.5, true);
    return hidden.to(torch::kDouble).matmul(problem.first->weight.t().to(torch::kDouble)).sum();
  };
  Training training(objective, recipe, {});
  const auto summary = step(training, {problem.batch(0, 6), problem.batch(6, 12)}, 1e-3);
  EXPECT_TRUE(summary.probed);
  EXPECT_LT(summary.lgi, 1e-2);
}

TEST(Training, ABatchIsPreparedOnceForAllEvaluations) {
  Recipe recipe;
  recipe.optimizer.probes = 3;
  Problem problem;
  auto objective = problem.objective();
  int prepared = 0;
  objective.prepare = [&](const TensorBatch& batch) {
    ++prepared;
    return TensorBatch{2 * batch[0], batch[1]};
  };
  int evaluated = 0;
  objective.loss = [&](const TensorBatch& batch) {
    ++evaluated;
    EXPECT_TRUE(batch[0].equal(2 * problem.x.slice(0, 0, 6)) ||
                batch[0].equal(2 * problem.x.slice(0, 6, 12)));
    return problem.loss(batch);
  };
  Training training(objective, recipe, {});
  for (int i = 0; i < 2; ++i) training.step({problem.batch(0, 6), problem.batch(6, 12)}, 1e-3);
  const int before = evaluated;  // the first step looks at more
  training.step({problem.batch(0, 6), problem.batch(6, 12)}, 1e-3);
  EXPECT_EQ(prepared, 6);
  EXPECT_EQ(evaluated - before, 8);
}

TEST(Training, ClippingBoundsTheGradientAfterTheProbe) {
  Recipe recipe;
  recipe.optimizer.name = "prox_sgd";
  recipe.optimizer.momentum = 0;
  recipe.optimizer.l1 = 0;
  recipe.train.clip = 1e-3;
  Problem problem;
  Training training(problem.objective(), recipe, {});
  const auto before = problem.weights();
  training.step({problem.batch(0, 12)}, 1.0);
  double squared = 0;
  const auto after = problem.weights();
  for (std::size_t i = 0; i < after.size(); ++i)
    squared += (after[i] - before[i]).square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(squared), 1e-3, 1e-5);

  // The residual statistic compares with the whole gradient: clipping must not have touched it yet.
  recipe.optimizer = {};
  recipe.optimizer.statistic = "residual";
  const auto lgi_with = [&](double clip) {
    recipe.train.clip = clip;
    Problem probed;
    Training clipped(probed.objective(), recipe, {});
    torch::manual_seed(7);
    return step(clipped, {probed.batch(0, 6), probed.batch(6, 12)}, 1e-3).lgi;
  };
  EXPECT_EQ(lgi_with(1e-6), lgi_with(0));
}

TEST(Training, AControlIsAdamWWithItsStepButNotItsDecayMultiplied) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.weight_decay = 0.1;
  Problem braked;
  Training training(braked.objective(), recipe, {0.25, 1.0});
  Problem plain;
  AdamW adamw(*plain.net, AdamWOptions(1e-2).weight_decay(0.1));
  const auto start = plain.weights();
  torch::manual_seed(1);
  const auto summary = step(training, {braked.batch(0, 12)}, 1e-2);
  torch::manual_seed(1);
  adamw.step([&] { return plain.loss(plain.batch(0, 12)); });
  EXPECT_EQ(summary.brake, 0.25);
  EXPECT_FALSE(summary.probed);
  const auto after_braked = braked.weights();
  const auto after_plain = plain.weights();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const auto decayed = start[i] * (1 - 1e-2 * 0.1);
    EXPECT_TRUE(torch::allclose(after_braked[i] - decayed, 0.25 * (after_plain[i] - decayed), 1e-4, 1e-7));
  }
  EXPECT_EQ(step(training, {braked.batch(0, 12)}, 1e-2).brake, 1.0);   // the next in the list
  EXPECT_EQ(step(training, {braked.batch(0, 12)}, 1e-2).brake, 0.25);  // and from the first again
}

TEST(Training, AnOptimizerOfNoSuchNameIsRefused) {
  for (const bool braked : {false, true}) {
    Recipe recipe;
    recipe.optimizer.name = "s_adam";
    Problem problem;
    testing::expect_refused(
        [&] { Training(problem.objective(), recipe, std::vector<double>(braked ? 1 : 0, 0.5)); },
        {"'s_adam' is no value of 'optimizer.name'", "sadam, adamw or prox_sgd"});
  }
}

TEST(Training, TheLearningRateIsTheOneGiven) {
  Recipe recipe;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.weight_decay = 0;
  Problem problem;
  Training training(problem.objective(), recipe, {});
  const auto before = problem.weights();
  training.step({problem.batch(0, 12)}, 0);
  testing::expect_same_bits(problem.weights(), before);
}

}  // namespace
}  // namespace sadam::train
