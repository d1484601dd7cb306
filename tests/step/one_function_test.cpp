// What the first step that probes finds out about the loss.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "step/engine.h"
#include "support/models.h"
#include "support/plain_problem.h"
#include "support/warnings.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

// Three steps of a loss of w; what was warned of.
std::vector<std::string> warned(const torch::Tensor& w, const LossClosure& loss) {
  const auto problem = plain_problem({{w}});
  const CapturedWarnings warnings;
  Engine engine;
  for (int i = 0; i < 3; ++i) engine.step(problem, asking_for({loss}));
  return warnings.sentences();
}

void expect_one(const std::vector<std::string>& sentences, const std::vector<std::string>& parts) {
  ASSERT_EQ(1u, sentences.size());
  for (const auto& part : parts) EXPECT_NE(std::string::npos, sentences[0].find(part)) << sentences[0];
}

struct OneFunction : ::testing::Test {
  torch::Tensor w = torch::randn({20}).set_requires_grad(true);
};

TEST_F(OneFunction, ALossThatTakesTheNextBatchIsWarnedOf) {
  int batch = 0;
  const auto next = [&] { return (w * static_cast<double>(++batch)).abs().sum(); };
  expect_one(warned(w, next), {"twice at the same weights", "the same batch each time"});
}

TEST_F(OneFunction, ALossWithAGeneratorOfItsOwnIsWarnedOf) {
  auto generator = at::detail::createCPUGenerator(5);
  const auto noisy = [&] { return (w * torch::rand({20}, generator)).abs().sum(); };
  expect_one(warned(w, noisy), {"torch's default generator only"});
}

TEST_F(OneFunction, ALossThatIsChangedByBuffersOfItsOwnIsWarnedOf) {
  auto counter = torch::ones({1});
  const auto counting = [&] {
    counter += 1;
    return (w * counter).abs().sum();
  };
  expect_one(warned(w, counting), {"protect() the buffers of every module"});
}

TEST_F(OneFunction, IsLookedAtInTheFirstStepThatProbesUnderSharedNoise) {
  int batch = 0;
  const auto next = [&] { return (w * static_cast<double>(++batch)).abs().sum(); };
  auto problem = plain_problem({{w}});
  const CapturedWarnings warnings;
  Engine engine;
  problem.rules[0].damping = 0;
  engine.step(problem, asking_for({next}));
  problem.rules[0].damping = 2;
  problem.plan->noise = ProbeNoise::fresh;
  engine.step(problem, asking_for({next}));
  EXPECT_TRUE(warnings.sentences().empty());
  problem.plan->noise = ProbeNoise::shared;
  engine.step(problem, asking_for({next}));
  EXPECT_EQ(1u, warnings.sentences().size());
}

TEST_F(OneFunction, AWellBehavedLossIsNotWarnedOf) {
  auto counter = torch::ones({1});
  auto problem = plain_problem({{w}});
  problem.buffers = {counter};
  const auto part = [&] {
    counter += 1;
    return (torch::dropout(w, 0.5, true) * counter).abs().sum();
  };
  const CapturedWarnings warnings;
  Engine engine;
  for (int i = 0; i < 3; ++i) engine.step(problem, asking_for({part, part}));
  EXPECT_EQ(std::vector<std::string>(), warnings.sentences());
}

// Rounding is none: a sum that comes out in another order the next time.
TEST_F(OneFunction, ALossThatDiffersByRoundingIsNotWarnedOf) {
  int evaluations = 0;
  const auto rounding = [&] { return w.abs().sum() * (1 + 1e-6 * (++evaluations % 2)); };
  EXPECT_EQ(std::vector<std::string>(), warned(w, rounding));
}

// Of the first step alone: the extra evaluations are not paid for again.
TEST_F(OneFunction, IsNotLookedAtAgain) {
  int evaluations = 0;
  const auto problem = plain_problem({{w}});
  Engine engine;
  std::vector<int> seen;
  for (int i = 0; i < 3; ++i) {
    evaluations = 0;
    engine.step(problem, asking_for({[&] {
                  ++evaluations;
                  return w.abs().sum();
                }}));
    seen.push_back(evaluations);
  }
  EXPECT_EQ((std::vector<int>{5, 3, 3}), seen);
}

// Copies of the weights are not what it reads: they are moved in place, and it sees what a twin sees.
TEST_F(OneFunction, ALossThatReadsAKeptViewIsProbedInPlaceFromTheFirstStepOn) {
  std::vector<std::vector<double>> seen[2];
  for (const bool through_a_view : {false, true}) {
    auto weights = w.detach().clone().set_requires_grad(true);
    const auto view = weights.view({-1});
    const auto problem = plain_problem({{weights}}, /*lr=*/0);  // so that both stay where they are
    const CapturedWarnings warnings;
    Engine engine;
    for (int i = 0; i < 3; ++i) {
      engine.step(problem, asking_for({[&] { return (through_a_view ? view : weights).abs().sum(); }}));
      seen[through_a_view].push_back(engine.summary().differences);
    }
    EXPECT_EQ(through_a_view, engine.wants_in_place());
    EXPECT_EQ(through_a_view ? 1u : 0u, warnings.count("does not see the weights that probes show it"));
    EXPECT_EQ(warnings.count("not views of them that were kept"), warnings.sentences().size());
    expect_same_bits({w}, {weights});
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST_F(OneFunction, AKeptViewIsNoticedUnderFreshNoiseToo) {
  const auto view = w.view({-1});
  auto problem = plain_problem({{w}}, /*lr=*/0);
  problem.plan->noise = ProbeNoise::fresh;
  const CapturedWarnings warnings;
  Engine engine;
  const auto generator = at::detail::getDefaultCPUGenerator().get_state();
  for (int i = 0; i < 2; ++i) engine.step(problem, asking_for({[&] { return view.abs().sum(); }}));
  EXPECT_EQ(warnings.count("does not see the weights that probes show it"), 1u);
  EXPECT_NE(engine.summary().differences.at(0), 0);
  EXPECT_TRUE(torch::equal(generator, at::detail::getDefaultCPUGenerator().get_state()));
}

TEST_F(OneFunction, AKeptViewOfALaterGroupIsNoticedWhereGroupsTakeTurns) {
  auto other = torch::ones({3}).set_requires_grad(true);
  const auto view = other.view({-1});
  auto problem = plain_problem({{w}, {other}}, /*lr=*/0);
  problem.plan->group_by_group = true;
  const CapturedWarnings warnings;
  Engine engine;
  engine.step(problem, asking_for({[&] { return w.abs().sum() + view.square().sum(); }}));
  EXPECT_EQ(warnings.count("does not see the weights that probes show it"), 1u);
  EXPECT_NE(engine.summary().differences.back(), 0);
}

// A closure that remembers what it has computed for a version of the weights.
TEST_F(OneFunction, NoTwoProbesShowTheSameVersionOfAWeight) {
  std::vector<std::int64_t> versions;
  Engine engine;
  engine.step(plain_problem({{w}}, /*lr=*/0), asking_for({[&] {
                if (!torch::GradMode::is_enabled()) versions.push_back(w._version());
                return w.abs().sum();
              }}));
  std::sort(versions.begin(), versions.end());
  // But for f(w) once more, which shows the weights themselves.
  EXPECT_EQ(std::unique(versions.begin(), versions.end()), versions.end());
}

TEST_F(OneFunction, ALossComputedOutsideIsRefused) {
  for (const bool late : {false, true}) {
    auto outside = w.abs().sum();
    const auto problem = plain_problem({{w}});
    Engine engine;
    if (late) {
      engine.step(problem, asking_for({[&] { return w.abs().sum(); }}));
      outside = w.abs().sum();
    }
    const auto weights = w.detach().clone();
    expect_refused([&] { engine.step(problem, asking_for({[&] { return outside; }})); },
                   {"the same tensor twice", "compute the loss inside it"});
    expect_same_bits({weights}, {w});
  }
}

}  // namespace
}  // namespace sadam::step
