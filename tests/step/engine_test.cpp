// Steps of plain tensors. The whole of it is linked without the optimizers.
#include "step/engine.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <stdexcept>

#include "support/models.h"
#include "support/plain_problem.h"
#include "support/warnings.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

// A loss with a kink, dropout and a buffer that each evaluation writes to.
struct Training {
  explicit Training(bool two_groups = false) {
    torch::manual_seed(3);
    for (const std::int64_t size : {12, 7}) weights.push_back(torch::randn({size}).set_requires_grad(true));
    problem = two_groups ? plain_problem({{weights[0]}, {weights[1]}}) : plain_problem({weights});
    problem.buffers = {counter};
    problem.plan->group_by_group = two_groups;
  }
  torch::Tensor loss() {
    counter += 1;
    ++evaluations;
    if (evaluations == fails_at) throw std::runtime_error("no");
    masks.push_back(torch::dropout(torch::ones({12}), 0.5, true));
    return (weights[0] * masks.back()).abs().sum() + weights[1].square().sum() + counter.sum();
  }
  Request request() {
    return asking_for({[this] { return loss(); }});
  }
  at::Tensor step() { return engine.step(problem, request()); }

  // Everything that a failed step leaves as it was.
  std::vector<torch::Tensor> everything() {
    auto all = copies(weights);
    for (auto item : problem.items) {
      problem.find_state(item);
      all.push_back(item.first_moment.clone());
      all.push_back(item.second_moment.clone());
    }
    all.push_back(counter.clone());
    all.push_back(generator_state());
    return all;
  }
  bool has_gradients() const { return weights[0].grad().defined() || weights[1].grad().defined(); }

  std::vector<torch::Tensor> weights;
  torch::Tensor counter = torch::zeros({1});
  std::vector<torch::Tensor> masks;
  int evaluations = 0;
  int fails_at = -1;
  Problem problem;
  Engine engine;
};

TEST(Engine, TrainsPlainTensors) {
  Training training;
  const double first = training.step().item<double>();
  for (int i = 0; i < 200; ++i) training.step();
  const auto& summary = training.engine.summary();
  EXPECT_LT(summary.loss, 201 + first / 2) << "the counter adds 1 for each step";
  EXPECT_EQ(201, training.counter.item<double>());
  EXPECT_EQ(200, summary.step);
  EXPECT_EQ(201, training.engine.totals().steps);
  ASSERT_EQ(2u, summary.differences.size());
  EXPECT_GT(summary.lgi, 0);
  EXPECT_DOUBLE_EQ(std::exp(-2 * summary.lgi), summary.brake);
  EXPECT_GT(summary.probe_seconds, 0);
}

TEST(Engine, EvaluatesOneFunctionInAStepAndAnotherInTheNext) {
  Training training;
  training.step();
  training.masks.clear();
  training.step();
  ASSERT_EQ(3u, training.masks.size());
  expect_same_bits({training.masks[0], training.masks[0]}, {training.masks[1], training.masks[2]});
  const auto mask = training.masks[0];
  training.step();
  EXPECT_FALSE(torch::equal(mask, training.masks[3]));
}

TEST(Engine, LeavesTheGeneratorWhereBaseAndBackwardLeftIt) {
  Training training;
  torch::Tensor after_base;
  training.weights[0].register_hook([&](torch::Tensor gradient) {
    torch::rand({3});
    after_base = generator_state();
    return gradient;
  });
  for (int i = 0; i < 3; ++i) {
    training.step();
    expect_same_bits({after_base}, {generator_state()});
  }
}

// At any evaluation of the first step, which is checked, and of a later one.
TEST(Engine, AfterAFailureAllIsAsBeforeAndTheNextStepIsThatOfATwin) {
  for (const int steps_before : {0, 2}) {
    int in_the_step = 0;
    for (int at = 1; at == 1 || at <= in_the_step; ++at) {
      Training twin;
      for (int i = 0; i < steps_before; ++i) twin.step();
      const int before = twin.evaluations;
      twin.step();
      in_the_step = twin.evaluations - before;
      const auto expected = twin.everything();

      Training training;
      for (int i = 0; i < steps_before; ++i) training.step();
      const auto at_start = training.everything();
      training.fails_at = training.evaluations + at;
      EXPECT_THROW(training.step(), std::runtime_error);
      expect_same_bits(at_start, training.everything());
      EXPECT_FALSE(training.has_gradients());
      EXPECT_EQ(steps_before, training.engine.totals().steps);
      training.step();
      expect_same_bits(expected, training.everything());
      EXPECT_EQ(twin.engine.summary().differences, training.engine.summary().differences);
    }
    EXPECT_EQ(steps_before == 0 ? 5 : 3, in_the_step);
  }
}

TEST(Engine, WhereGroupsTakeTurnsTheUpdatesBeforeAFailureStand) {
  Training twin(/*two_groups=*/true);
  twin.step();
  twin.step();
  const auto expected = twin.everything();
  Training training(/*two_groups=*/true);
  training.step();
  const auto before = training.everything();
  training.fails_at = training.evaluations + 4;  // base, two probes of the first group, one of the second
  EXPECT_THROW(training.step(), std::runtime_error);
  const auto after = training.everything();
  expect_same_bits({expected[0], before[1]}, {after[0], after[1]});   // weights
  expect_same_bits({expected[2], expected[3], before[4], before[5]},  // moments
                   {after[2], after[3], after[4], after[5]});
  expect_same_bits({before[6], before[7]}, {after[6], after[7]});  // buffer, generator
  EXPECT_FALSE(training.has_gradients());
  EXPECT_EQ(1, training.engine.totals().steps);
  training.step();
  EXPECT_EQ(2, training.engine.totals().steps);
  EXPECT_EQ(4u, training.engine.summary().differences.size());
}

TEST(Engine, AFailureBeforeTheUpdateIsOneOfTheStep) {
  Training training;
  training.step();
  const auto before = training.everything();
  auto request = training.request();
  request.before_update = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(training.engine.step(training.problem, request), std::runtime_error);
  expect_same_bits(before, training.everything());
  EXPECT_FALSE(training.has_gradients());
}

TEST(Engine, ARehearsalPutsEverythingBack) {
  Training training;
  training.step();
  const auto before = training.everything();
  auto request = training.request();
  request.rehearsal = true;
  training.engine.step(training.problem, request);
  EXPECT_EQ(5 + 3, training.evaluations);
  expect_same_bits(before, training.everything());
  EXPECT_EQ(1, training.engine.totals().steps);
}

TEST(Engine, TheSplitFormIsTheSameStep) {
  std::vector<torch::Tensor> ended[2];
  std::vector<double> differences[2];
  for (const bool split : {false, true}) {
    Training training;
    for (int i = 0; i < 3; ++i) {
      if (!split) {
        training.step();
        continue;
      }
      for (auto& w : training.weights) w.mutable_grad().reset();
      training.engine.begin(training.problem);
      const auto loss = training.loss();
      loss.backward();
      Request request;
      request.brakes = training.engine.probe(training.problem, training.request(), loss).group_brakes;
      training.engine.apply(training.problem, request);
    }
    ended[split] = training.everything();
    differences[split] = training.engine.summary().differences;
  }
  expect_same_bits(ended[0], ended[1]);
  EXPECT_EQ(differences[0], differences[1]);
}

// Leaves that are views of one block, as a recurrent layer's weights are.
TEST(Engine, WeightsInOneBlockOfMemoryTrainAsThoseApart) {
  const auto start = torch::randn({24});
  std::vector<torch::Tensor> ended[2];
  for (const bool together : {false, true}) {
    auto flat = start.clone();
    std::vector<torch::Tensor> parts{flat.slice(0, 0, 10), flat.slice(0, 10, 24).view({2, 7}).t()};
    for (auto& part : parts) {
      if (!together) part = part.clone();
      part.set_requires_grad(true);
    }
    const auto problem = plain_problem({parts});
    Engine engine;
    for (int i = 0; i < 4; ++i)
      engine.step(problem, asking_for({[&] { return parts[0].abs().sum() + parts[1].square().sum(); }}));
    EXPECT_GT(engine.summary().lgi, 0);
    ended[together] = copies(parts);
  }
  expect_same_bits(ended[0], ended[1]);
}

TEST(Engine, ProbesInFullPrecisionAndLeavesItAsItWas) {
  auto& context = at::globalContext();
  using Precision = at::Float32MatmulPrecision;
  auto w = torch::randn({5}).set_requires_grad(true);
  Engine engine;
  for (const bool reduced : {true, false}) {
    const auto before = reduced ? Precision::MEDIUM : Precision::HIGHEST;
    std::vector<Precision> seen;
    context.setFloat32MatmulPrecision(std::string(reduced ? "medium" : "highest"));
    engine.step(plain_problem({{w}}), asking_for({[&] {
                  seen.push_back(context.float32MatmulPrecision());
                  return w.abs().sum();
                }}));
    EXPECT_EQ(before, context.float32MatmulPrecision());
    context.setFloat32MatmulPrecision(std::string("highest"));
    ASSERT_GE(seen.size(), 3u);
    EXPECT_EQ(before, seen.front());
    for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_EQ(Precision::HIGHEST, seen[i]);
    EXPECT_EQ(reduced ? 6u : 3u, seen.size()) << "f(w) is evaluated again only where it was reduced";
  }
}

TEST(Engine, ProxSgdIsTheSameStepWithoutAPlan) {
  auto w = torch::tensor({0.5f, 0.004f, -0.5f}).set_requires_grad(true);
  auto problem = plain_problem({{w}});
  problem.plan.reset();
  problem.update = Update::prox_sgd;
  problem.rules[0].lr = 0.1;
  problem.rules[0].l1 = 0.05;
  Engine engine;
  engine.step(problem, asking_for({[&] { return 0 * w.sum(); }}));
  EXPECT_TRUE(torch::allclose(w, torch::tensor({0.495f, 0.0f, -0.495f})));
  EXPECT_FALSE(engine.summary().probed);
}

// Gradients that are clipped, replaced, made or let go of between the probes and the update.
TEST(Engine, UpdatesFromTheGradientsThatAreThereAtTheUpdate) {
  auto used = torch::ones({3}).set_requires_grad(true);
  auto unused = torch::ones({3}).set_requires_grad(true);
  auto problem = plain_problem({{used, unused}}, /*lr=*/0.25);
  problem.rules[0].weight_decay = 0;
  problem.rules[0].damping = 0;
  auto request = asking_for({[&] { return used.sum(); }});
  request.before_update = [&] {
    used.mutable_grad().reset();
    unused.mutable_grad() = torch::ones({3});
  };
  Engine engine;
  engine.step(problem, request);
  EXPECT_TRUE(torch::equal(used, torch::ones({3})));
  EXPECT_TRUE(torch::allclose(unused, torch::full({3}, 0.75f)));
  request.before_update = [&] { unused.mutable_grad() = torch::full({3}, std::nanf("")); };
  engine.step(problem, request);
  EXPECT_TRUE(engine.summary().skipped);
  EXPECT_TRUE(torch::allclose(unused, torch::full({3}, 0.75f)));
  request.before_update = [&] { used.mutable_grad() = torch::eye(3).to_sparse().select(0, 0); };
  EXPECT_THROW(engine.step(problem, request), Error);
}

// Whoever keeps the states hears of updates only when they are asked for, as on a GPU.
TEST(Engine, CountsOfUpdatesOutliveAParameterThatIsUnusedOnceOrConverted) {
  for (const std::string what : {"unused", "converted", "laid out anew", "other probes"}) {
    auto a = torch::randn({2, 3, 2, 2}).set_requires_grad(true);
    auto b = torch::randn({4}).set_requires_grad(true);
    auto problem = plain_problem({{a, b}});
    Engine engine;
    for (int i = 0; i < 6; ++i) {
      if (i == 3 && what == "converted") a.set_data(a.detach().to(torch::kDouble));
      if (i == 3 && what == "laid out anew")
        a.set_data(a.detach().contiguous(at::MemoryFormat::ChannelsLast));
      if (i == 3 && what == "other probes") problem.plan->probes = 3;
      const bool uses_a = i != 2 || what != "unused";
      engine.step(problem,
                  asking_for({[&] { return b.abs().sum() + (uses_a ? a.abs().sum() : torch::zeros({})); }}));
    }
    const auto items = engine.updated_items();
    EXPECT_EQ(items[0].t, what == "unused" ? 5 : 6) << what;
    EXPECT_EQ(items[1].t, 6) << what;
  }
}

TEST(Engine, ABeginningWithoutAProbeIsForgottenByTheNextWholeStep) {
  auto w = torch::ones({3}).set_requires_grad(true);
  auto counter = torch::zeros({1});
  auto problem = plain_problem({{w}});
  problem.buffers = {counter};
  Engine engine;
  const auto loss = [&] {
    const torch::NoGradGuard no_grad;
    counter.add_(1);
    const torch::AutoGradMode with_gradients(true);
    return w.abs().sum();
  };
  engine.begin(problem);
  for (int i = 0; i < 3; ++i) engine.step(problem, asking_for({loss}));
  EXPECT_EQ(counter.item<double>(), 3);
  EXPECT_THROW(
      engine.probe(problem, asking_for({[&]() -> torch::Tensor { throw std::runtime_error("no"); }}), {}),
      std::runtime_error);
  EXPECT_EQ(counter.item<double>(), 3);
}

TEST(Engine, BuffersMayBeExpandedOrShareMemory) {
  auto w = torch::ones({3}).set_requires_grad(true);
  auto expanded = torch::ones({1, 2}).expand({4, 2});
  auto all = torch::ones({4});
  auto one = all[0];
  auto problem = plain_problem({{w}});
  problem.buffers = {expanded, all, one};
  const CapturedWarnings warnings;
  Engine engine;
  const auto loss = [&] {
    {
      const torch::NoGradGuard no_grad;
      all.add_(1);  // and so does `one`, which is a part of it
    }
    return w.abs().sum() * one + expanded.sum();
  };
  for (int i = 0; i < 3; ++i) engine.step(problem, asking_for({loss}));
  EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
  EXPECT_EQ(one.item<double>(), 4);
  EXPECT_EQ(engine.totals().steps, 3);
  engine.step(problem, asking_for({[&] { return loss() * std::nan(""); }}));
  EXPECT_EQ(one.item<double>(), 4) << "put back";
  EXPECT_EQ(engine.totals().skipped, 1);
}

}  // namespace
}  // namespace sadam::step
