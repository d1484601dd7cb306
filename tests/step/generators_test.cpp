#include "step/generators.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <thread>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

bool draws(const std::function<void()>& work) {
  const DrawWatch watch;
  work();
  return watch.drew_on(at::kCPU);
}

TEST(DrawWatch, SeesEveryOperatorThatDraws) {
  const auto x = torch::ones({4, 3});
  const auto generator = at::detail::getDefaultCPUGenerator();
  EXPECT_TRUE(draws([&] { torch::dropout(x, 0.5, true); }));
  EXPECT_TRUE(draws([&] { torch::rand({3}); }));
  EXPECT_TRUE(draws([&] { torch::randn({3}); }));
  EXPECT_TRUE(draws([&] { torch::randint(10, {3}); }));
  EXPECT_TRUE(draws([&] { torch::randperm(3); }));
  EXPECT_TRUE(draws([&] { torch::rand_like(x); }));
  EXPECT_TRUE(draws([&] { torch::bernoulli(x, generator); }));
  EXPECT_TRUE(draws([&] { torch::multinomial(x, 2, false, generator); }));
  EXPECT_TRUE(draws([&] { torch::rrelu(x, 0.1, 0.3, true, generator); }));
  EXPECT_TRUE(draws([&] { torch::normal(0.0, 1.0, {3}, generator); }));
  EXPECT_TRUE(draws([&] { x.clone().uniform_(0, 1, generator); }));
  EXPECT_TRUE(draws([&] { x.clone().exponential_(1, generator); }));
  EXPECT_TRUE(draws([&] { torch::nn::FeatureAlphaDropout()->forward(torch::ones({2, 3, 4, 5})); }));
  for (int again = 0; again < 2; ++again) {  // what is known of an operator is kept
    EXPECT_FALSE(draws([&] { torch::relu(x.mm(x.t())).sum(); }));
    EXPECT_TRUE(draws([&] { torch::dropout(x, 0.5, true); }));
  }
  EXPECT_FALSE(draws([&] { torch::dropout(x, 0.5, false); }));
}

TEST(DrawWatch, MayNotTellDevicesApart) {
  const DrawWatch apart;
  const DrawWatch together(/*tells_devices_apart=*/false);
  torch::relu(torch::ones({3}));
  EXPECT_FALSE(together.drew_on(at::kCUDA));
  torch::rand({3});
  EXPECT_TRUE(together.drew_on(at::kCUDA));
  EXPECT_TRUE(together.drew_on(at::kCPU));
  EXPECT_FALSE(apart.drew_on(at::kCUDA));
}

TEST(DrawWatch, SeesItsOwnThreadAlone) {
  EXPECT_FALSE(draws([] { std::thread([] { torch::rand({3}); }).join(); }));
  bool seen = false;
  const DrawWatch outer;
  std::thread([&] { seen = draws([] { torch::rand({3}); }); }).join();
  EXPECT_TRUE(seen);
  EXPECT_FALSE(outer.drew_on(at::kCPU));
}

TEST(DrawWatch, WatchesMayNestAndEndInAnyOrder) {
  auto first = std::make_unique<DrawWatch>();
  auto second = std::make_unique<DrawWatch>();
  torch::rand({3});
  EXPECT_TRUE(first->drew_on(at::kCPU));
  EXPECT_TRUE(second->drew_on(at::kCPU));
  first.reset();
  const DrawWatch third;
  EXPECT_FALSE(third.drew_on(at::kCPU));
  torch::rand({3});
  EXPECT_TRUE(third.drew_on(at::kCPU));
  std::thread([&] { second.reset(); }).join();
  torch::rand({3});
}

Draws draws_of_the_default_generator() { return Draws({default_generator(at::kCPU)}); }

TEST(Draws, LeaveAloneAGeneratorFromWhichNothingWasDrawn) {
  auto draws = draws_of_the_default_generator();
  draws.begin_base();
  draws.end_base();
  draws.rest_here();
  std::thread([] { torch::rand({3}); }).join();  // somebody else
  const auto moved_on = generator_state();
  draws.replay();
  expect_same_bits({moved_on}, {generator_state()});
  draws.check_replay();
  draws.after_probes();
  expect_same_bits({moved_on}, {generator_state()});
  draws.restore();
  expect_same_bits({moved_on}, {generator_state()});
}

TEST(Draws, ReplayWhatTheBaseEvaluationDrew) {
  const CapturedWarnings warnings;
  const auto at_start = generator_state();
  auto draws = draws_of_the_default_generator();
  draws.begin_base();
  const auto base = torch::rand({5});
  draws.end_base();
  torch::rand({2});  // a backward pass that draws, too
  const auto at_rest = generator_state();
  draws.rest_here();
  for (int probe = 0; probe < 2; ++probe) {
    draws.replay();
    EXPECT_TRUE(torch::equal(base, torch::rand({5})));
    draws.check_replay();
  }
  draws.after_probes();
  expect_same_bits({at_rest}, {generator_state()});
  draws.restore();
  expect_same_bits({at_start}, {generator_state()});
  EXPECT_TRUE(warnings.sentences().empty());
}

TEST(Draws, WarnOfAReplayThatDrewSomethingElse) {
  const CapturedWarnings warnings;
  auto draws = draws_of_the_default_generator();
  draws.begin_base();
  torch::rand({5});
  draws.end_base();
  draws.replay();
  torch::rand({6});
  draws.check_replay();
  ASSERT_EQ(1u, warnings.sentences().size());
  EXPECT_EQ(1u, warnings.count("a probe drew other random numbers"));
  EXPECT_EQ(1u, warnings.count("let no other thread draw from torch's default generator"));
}

TEST(Draws, OfABaseEvaluationThatFailedAreTakenBack) {
  const auto at_start = generator_state();
  auto draws = draws_of_the_default_generator();
  draws.begin_base();
  torch::rand({5});
  draws.restore();
  expect_same_bits({at_start}, {generator_state()});
}

TEST(Draws, MayRestWhereTheyStarted) {
  const auto at_start = generator_state();
  auto draws = draws_of_the_default_generator();
  draws.begin_base();
  torch::rand({5});
  draws.end_base();
  draws.rest_at_start();
  draws.after_probes();
  expect_same_bits({at_start}, {generator_state()});
}

}  // namespace
}  // namespace sadam::step
