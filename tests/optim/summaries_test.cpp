// What is remembered of past steps.
#include <sstream>

#include "support/models.h"

namespace sadam {
namespace {

TEST(Summaries, OfAllStepsAreTakenOnceInOrder) {
  auto w = torch::ones({3}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(1e-3));
  const auto step = [&] { optimizer.step([&] { return w.abs().sum(); }); };
  EXPECT_TRUE(optimizer.take_summaries().empty());
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    step();
    losses.push_back(optimizer.summary().loss);
  }
  const auto taken = optimizer.take_summaries();
  ASSERT_EQ(5u, taken.size());
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(i), taken[i].step);
    EXPECT_EQ(losses[i], taken[i].loss);
    EXPECT_EQ(2u, taken[i].differences.size());
  }
  EXPECT_TRUE(optimizer.take_summaries().empty());
  step();
  ASSERT_EQ(1u, optimizer.take_summaries().size());
  EXPECT_EQ(5, optimizer.summary().step) << "the last one stays";
}

TEST(Summaries, AreAtMostThoseOfTheLast512Steps) {
  auto w = torch::ones({3}).set_requires_grad(true);
  AdamW optimizer({w}, AdamWOptions(1e-3));
  for (int i = 0; i < 700; ++i) optimizer.step([&] { return w.sum(); });
  const auto taken = optimizer.take_summaries();
  ASSERT_EQ(512u, taken.size());
  for (std::size_t i = 0; i < 512; ++i) ASSERT_EQ(static_cast<std::int64_t>(700 - 512 + i), taken[i].step);
  for (int i = 0; i < 400; ++i) optimizer.step([&] { return w.sum(); });
  const auto later = optimizer.take_summaries();
  ASSERT_EQ(400u, later.size());
  EXPECT_EQ(700, later.front().step);
  EXPECT_EQ(1099, later.back().step);
}

TEST(Summaries, OfStepsBeforeAnotherGroupAreNotLost) {
  auto a = torch::ones({3}).set_requires_grad(true);
  auto b = torch::ones({3}).set_requires_grad(true);
  SAdam optimizer({a}, SAdamOptions(1e-3));
  const auto step = [&] { optimizer.step([&] { return a.abs().sum() + b.abs().sum(); }); };
  step(), step();
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(std::vector<torch::Tensor>{b}));
  step();
  const auto taken = optimizer.take_summaries();
  ASSERT_EQ(3u, taken.size());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(i), taken[i].step);
    EXPECT_EQ(i < 2 ? 1u : 2u, taken[i].group_brakes.size());
  }
  EXPECT_TRUE(optimizer.take_summaries().empty());
}

TEST(Summaries, AreNotThoseOfALifeBeforeALoad) {
  auto w = torch::ones({3}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(1e-3));
  optimizer.step([&] { return w.abs().sum(); });
  std::stringstream file;
  torch::save(optimizer, file);
  optimizer.step([&] { return w.abs().sum(); });
  torch::load(optimizer, file);
  EXPECT_TRUE(optimizer.take_summaries().empty());
  optimizer.step([&] { return w.abs().sum(); });
  const auto taken = optimizer.take_summaries();
  ASSERT_EQ(1u, taken.size());
  EXPECT_EQ(1, taken[0].step);
}

}  // namespace
}  // namespace sadam
