// Runs that evaluate the average of their weights, and recipes for the rivals.
#include <gtest/gtest.h>
#include <sadam/sadam.h>

#include "base/file.h"
#include "nn/classifier.h"
#include "support/models.h"
#include "support/small_runs.h"
#include "support/temporary_folder.h"
#include "train/recipe/source.h"
#include "train/trained_run.h"

namespace sadam::train {
namespace {

using sadam::testing::copies;
using sadam::testing::expect_same_bits;
using sadam::testing::expect_same_events;
using sadam::testing::small_recipe;
using sadam::testing::whole_run;

Recipe with_average(double decay, std::int64_t from = 1, std::int64_t epochs = 3) {
  auto recipe = small_recipe(epochs);
  recipe.optimizer.name = "prox_sgd";
  recipe.optimizer.lr = 0.05;
  recipe.optimizer.l1 = 0;
  recipe.average.decay = decay;
  recipe.average.from = from;
  return recipe;
}

TEST(Average, IsWhatARunEvaluatesAndDoesNotDisturbTheTraining) {
  const TemporaryFolder folder;
  const auto plain = whole_run(folder / "plain", with_average(0));
  const auto averaged = whole_run(folder / "averaged", with_average(0.9));
  ASSERT_EQ(plain.steps.size(), averaged.steps.size());
  for (std::size_t i = 0; i < plain.steps.size(); ++i) EXPECT_EQ(plain.steps[i].loss, averaged.steps[i].loss);
  for (std::size_t i = 0; i < plain.epochs.size(); ++i)
    EXPECT_NE(plain.epochs[i].test_loss, averaged.epochs[i].test_loss) << i;
}

TEST(Average, IsWhatEvalAndExportUse) {
  const TemporaryFolder folder;
  const auto events = whole_run(folder / "averaged", with_average(0.9));
  whole_run(folder / "plain", with_average(0));
  const RunPaths averaged{folder / "averaged"};
  const RunPaths plain{folder / "plain"};
  EXPECT_EQ(events.epochs.back().test_loss, evaluate_run(averaged, recipe_of(averaged), nullptr)->loss);
  // The recipe is in the file, so the tensors are compared.
  const auto tensors = [&](const RunPaths& paths) {
    return network_and_batch(paths, recipe_of(paths)).network;
  };
  base::write_file_atomically(folder / "w.safetensors", export_run(averaged, recipe_of(averaged)));
  auto elsewhere = recipe_of(averaged);
  elsewhere.model.weights = (folder / "w.safetensors").string();
  EXPECT_EQ(events.epochs.back().test_loss, evaluate_run({}, elsewhere, nullptr)->loss);
  EXPECT_FALSE(torch::equal(tensors(averaged)->parameters()[0], tensors(plain)->parameters()[0]));
}

TEST(Average, BeginsWithTheEpochThatTheRecipeSays) {
  const TemporaryFolder folder;
  const auto plain = whole_run(folder / "plain", with_average(0));
  const auto late = whole_run(folder / "late", with_average(1, 3));
  for (const std::size_t epoch : {0, 1})
    EXPECT_EQ(plain.epochs[epoch].test_loss, late.epochs[epoch].test_loss) << epoch;
  EXPECT_NE(plain.epochs[2].test_loss, late.epochs[2].test_loss);
}

TEST(Average, OfARunThatWasStoppedIsThatOfAWholeOne) {
  const TemporaryFolder folder;
  for (const double decay : {0.9, 1.0}) {
    auto recipe = with_average(decay, 2);
    recipe.optimizer.gradient_at = "nearby";
    const auto whole_folder = folder / ("whole-" + std::to_string(decay));
    const auto whole = whole_run(whole_folder, recipe);
    const auto exported = export_run({whole_folder}, recipe);
    for (const int events :
         {2, 4, 5, 7, 11}) {  // within an epoch, at its end, before and after the first update
      const auto name = std::to_string(decay) + "-" + std::to_string(events);
      DataSets data;
      const auto made = begin_run(folder / ("stopped-" + name), recipe, data);
      sadam::testing::StopAfter stop(events);
      ASSERT_EQ(Outcome::stopped, continue_run(made, stop.options()));
      ASSERT_EQ(Outcome::finished, continue_run(made, {}));
      expect_same_events(whole, read_events(made.paths().events()));
      EXPECT_EQ(exported, export_run(made.paths(), recipe)) << name;
    }
  }
}

// A small network in a Training.
struct Small {
  Small() : net((torch::manual_seed(4), torch::nn::Linear(4, 3))), x(torch::randn({12, 4})) {}
  at::Tensor loss(const TensorBatch& batch) const {
    return cross_entropy(net.ptr()->forward(batch[0]).tanh(), batch[1]);
  }
  Objective objective() {
    return {net.ptr(), [this](const TensorBatch& batch) { return loss(batch); }, nullptr};
  }
  TensorBatch batch() const { return {x, y}; }
  torch::nn::Linear net;
  at::Tensor x;
  at::Tensor y = torch::randint(3, {12});
};

TEST(Average, OfATrainingIsThatOfItsWeights) {
  Small small;
  Recipe recipe;
  recipe.average.decay = 1;
  recipe.optimizer.name = "adamw";
  Training training(small.objective(), recipe, {});
  EXPECT_FALSE(training.use_average()) << "there is none yet";
  auto sum = torch::zeros({3, 4}, torch::kDouble);
  for (int t = 1; t <= 5; ++t) {
    training.step({small.batch()}, 0.1);
    training.update_average();
    sum += small.net->weight.detach().to(torch::kDouble);
    const auto own = small.net->weight.detach().clone();
    {
      const auto averaged = training.use_average();
      ASSERT_TRUE(averaged);
      EXPECT_LT((small.net->weight - sum / t).abs().max().item<double>(), 1e-6);
    }
    expect_same_bits({own}, {small.net->weight});
  }
}

template <class Optimizer, class Options>
void expect_the_library(const Recipe& recipe, const Options& options) {
  Small by_recipe;
  Small by_hand;
  by_hand.y = by_recipe.y;
  Training training(by_recipe.objective(), recipe, {});
  Optimizer optimizer(*by_hand.net, options);
  for (int step = 0; step < 5; ++step) {
    training.step({by_recipe.batch()}, recipe.optimizer.lr);
    optimizer.step([&] { return by_hand.loss(by_hand.batch()); });
  }
  expect_same_bits(by_recipe.net->parameters(), by_hand.net->parameters());
}

TEST(Rivals, OfARecipeAreThoseOfTheLibrary) {
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby}) {
    Recipe recipe;
    recipe.seed = 9;
    recipe.optimizer.name = "adamw";
    recipe.optimizer.lr = 0.1;
    recipe.optimizer.gradient_at = to_string(place);
    recipe.optimizer.gradient_radius = 0.3;
    recipe.optimizer.final_ratio = 10;
    recipe.optimizer.bound_gamma = 0.5;
    expect_the_library<AdamW>(
        recipe,
        AdamWOptions(0.1).gradient_at(place).gradient_radius(0.3).seed(9).final_ratio(10).bound_gamma(0.5));
    recipe.optimizer.name = "prox_sgd";
    expect_the_library<ProxSGD>(recipe, ProxSGDOptions(0.1).gradient_at(place).gradient_radius(0.3).seed(9));
  }
}

}  // namespace
}  // namespace sadam::train
