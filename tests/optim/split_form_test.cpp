#include <ATen/autocast_mode.h>
#include <sadam/s_adam.h>

#include <cmath>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

struct Trace {
  std::vector<torch::Tensor> weights;
  std::vector<double> brakes;
};

// The same training by the one-closure step and by the split form.
Trace traced(const SAdamOptions& options, bool split, bool pass_loss = true) {
  torch::manual_seed(3);
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, options);
  const auto loss_fn = [&] { return loss_of(net, batch); };
  Trace result;
  for (int step = 0; step < 5; ++step) {
    if (split) {
      optimizer.begin();
      optimizer.zero_grad();
      auto loss = loss_fn();
      loss.backward();
      const auto brakes = optimizer.probe(loss_fn, pass_loss ? loss : torch::Tensor());
      optimizer.step(brakes);
    } else {
      optimizer.step(loss_fn);
    }
    result.brakes.push_back(optimizer.summary().brake);
  }
  result.weights = copies(net->parameters());
  for (const auto& buffer : copies(net->buffers())) result.weights.push_back(buffer);
  result.weights.push_back(generator_state());
  return result;
}

TEST(SplitForm, EqualsTheOneClosureStepBitForBit) {
  const auto residual = SAdamOptions(0.01).statistic(Statistic::residual);
  const auto held =
      SAdamOptions(residual).directions(Directions::step).brake(Brake::held).damping(0.3).target(0.05);
  for (const auto& options : {SAdamOptions(0.01), residual, held, SAdamOptions(held).interval(2)}) {
    const auto whole = traced(options, false);
    const auto split = traced(options, true);
    EXPECT_LT(whole.brakes.back(), 1);
    EXPECT_EQ(whole.brakes, split.brakes);
    expect_same_bits(whole.weights, split.weights);
    const auto without_loss = traced(options, true, false);
    EXPECT_EQ(whole.brakes, without_loss.brakes) << "f(w) evaluated again, with the same masks";
    expect_same_bits(whole.weights, without_loss.weights);
  }
}

TEST(SplitForm, WithoutBeginEvaluatesTheBaseItself) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01).probes(3));
  optimizer.step([&] { return loss_of(net, batch); });  // which is checked, with evaluations of its own
  net->masks.clear();
  const auto weights = copies(net->parameters());
  const auto buffers = copies(net->buffers());
  const auto generator = generator_state();
  int evaluations = 0;
  const double brake = optimizer.probe([&] {
    ++evaluations;
    return loss_of(net, batch);
  });
  EXPECT_EQ(4, evaluations);
  EXPECT_LT(brake, 1);
  EXPECT_TRUE(torch::equal(net->masks[0], net->masks[3]));
  expect_same_bits(weights, net->parameters());
  expect_same_bits(buffers, net->buffers());
  expect_same_bits({generator}, {generator_state()});
}

TEST(SplitForm, TheGradientMayBeClippedBetweenProbeAndStep) {
  auto w = torch::full({4}, 2.0, torch::kDouble).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.1).weight_decay(0).bias_correction(BiasCorrection::none).eps(1));
  const auto loss_fn = [&] { return 1000 * w.sum(); };
  optimizer.begin();
  auto loss = loss_fn();
  loss.backward();
  const auto brakes = optimizer.probe(loss_fn, loss);
  torch::nn::utils::clip_grad_norm_({w}, 1.0);
  const double g = w.grad()[0].item<double>();
  EXPECT_NEAR(0.5, g, 1e-6);
  optimizer.step(brakes);
  EXPECT_NEAR(2 - 0.1 * brakes * 0.1 * g / (std::sqrt(0.001) * g + 1), w[0].item<double>(), 1e-12);
}

TEST(SplitForm, TakesABrakeOfTheCallers) {
  auto w = torch::full({4}, 2.0, torch::kDouble).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.1).weight_decay(0).eps(0));
  w.sum().backward();
  optimizer.step(0.25);
  EXPECT_NEAR(2 - 0.1 * 0.25, w[0].item<double>(), 1e-12);
  EXPECT_EQ(0.25, optimizer.summary().brake);
  EXPECT_EQ(1, optimizer.totals().steps);
  expect_refused([&] { optimizer.step(-1.0); }, {"brake", "-1"});
  expect_refused([&] { optimizer.step(std::nan("")); }, {"brake"});
}

TEST(SplitForm, RespectsTheInterval) {
  auto w = torch::randn({20}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).interval(2));
  int evaluations = 0;
  const auto loss_fn = [&] {
    ++evaluations;
    return w.abs().sum();
  };
  for (int step = 0; step < 4; ++step) {
    optimizer.begin();
    optimizer.zero_grad();
    auto loss = loss_fn();
    loss.backward();
    evaluations = 0;
    optimizer.step(optimizer.probe(loss_fn, loss));
    EXPECT_EQ(step == 0 ? 4 : step % 2 == 0 ? 2 : 0, evaluations) << "the first is checked";
    EXPECT_GT(optimizer.summary().lgi, 0);
  }
}

TEST(SplitForm, ANonFiniteBaseSkipsTheStep) {
  auto w = torch::ones({3}).set_requires_grad(true);
  SAdam optimizer({w});
  optimizer.begin();
  auto loss = w.sum();
  loss.backward();
  int probes = 0;
  const auto brakes = optimizer.probe(
      [&] {
        ++probes;
        return w.sum() * std::nan("");
      },
      loss * std::nan(""));
  EXPECT_EQ(0, probes);
  optimizer.step(brakes);
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_TRUE(torch::equal(w, torch::ones({3})));
}

TEST(SplitForm, AProbeThatFailedIsForgotten) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01));
  EXPECT_THROW(optimizer.probe([&]() -> torch::Tensor { throw std::runtime_error("no"); }),
               std::runtime_error);
  int evaluations = 0;
  optimizer.probe(
      [&] {
        ++evaluations;
        return loss_of(net, batch);
      },
      torch::full({}, 1000.0));
  EXPECT_EQ(5, evaluations) << "without begin() a given loss cannot be that of the replayed function";
  for (double difference : optimizer.summary().differences) EXPECT_LT(std::abs(difference), 100);
}

TEST(SplitForm, TheResidualNeedsAGradient) {
  auto w = torch::randn({20}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).statistic(Statistic::residual));
  expect_refused([&] { optimizer.probe([&] { return w.sum(); }); }, {"residual", "backward"});
}

TEST(SplitForm, AStepNeedsAGradient) {
  auto w = torch::ones({20}).set_requires_grad(true);
  SAdam optimizer({w});
  expect_refused([&] { optimizer.step(0.5); },
                 {"SAdam::step", "no parameter has a gradient", "call backward"});
  EXPECT_TRUE(torch::equal(w, torch::ones({20})));
  EXPECT_EQ(0, optimizer.totals().steps);
  w.sum().backward();
  optimizer.step(0.5);
  EXPECT_EQ(1, optimizer.totals().steps);
  AdamW adamw({w});
  adamw.zero_grad();
  EXPECT_NO_THROW(adamw.step()) << "as torch's own";
}

TEST(SplitForm, AGivenLossMustBeOne) {
  auto w = torch::ones({20}).set_requires_grad(true);
  SAdam optimizer({w});
  const auto loss_fn = [&] { return w.sum(); };
  expect_refused([&] { optimizer.probe(loss_fn, torch::ones({3})); }, {"SAdam::probe", "scalar", "[3]"});
  expect_refused([&] { optimizer.probe(loss_fn, torch::ones({}, torch::kLong)); }, {"SAdam::probe", "Long"});
  expect_refused([&] { optimizer.probe(std::vector<torch::optim::Optimizer::LossClosure>()); },
                 {"SAdam::probe", "no loss function"});
}

// What is refused was not begun: the forward pass can still be probed.
TEST(SplitForm, ARefusalForgetsNothing) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01));
  const auto loss_fn = [&] { return loss_of(net, batch); };
  optimizer.step(loss_fn);
  optimizer.begin();
  optimizer.zero_grad();
  auto loss = loss_fn();
  loss.backward();
  EXPECT_THROW(optimizer.probe(loss_fn, torch::ones({3})), Error);
  net->masks.clear();
  optimizer.probe(loss_fn, loss);
  EXPECT_EQ(2u, net->masks.size()) << "f(w) is not evaluated again";
}

// It has saved weights and buffers, which probes must not be seen to touch.
TEST(SplitForm, BackwardMayFollowTheProbes) {
  std::vector<torch::Tensor> gradients[2];
  for (const bool after : {false, true}) {
    torch::manual_seed(3);
    NoisyNet net;
    const Batch batch;
    SAdam optimizer(*net, SAdamOptions(0.01));
    const auto loss_fn = [&] { return loss_of(net, batch); };
    optimizer.begin();
    auto loss = loss_fn();
    if (!after) loss.backward();
    optimizer.probe(loss_fn, loss);
    if (after) loss.backward();
    for (const auto& parameter : net->parameters()) gradients[after].push_back(parameter.grad());
  }
  expect_same_bits(gradients[0], gradients[1]);
}

// Torch 1.13's own zero_grad leaves zeros, from which Adam's moments would still step.
TEST(SplitForm, LeavesAParameterAloneThatAStepDoesNotUseAsTheClosureFormDoes) {
  std::vector<torch::Tensor> ended[2];
  for (const bool split : {false, true}) {
    auto always = torch::ones({5}).set_requires_grad(true);
    auto sometimes = torch::ones({5}).set_requires_grad(true);
    SAdam optimizer({always, sometimes}, SAdamOptions(0.1));
    for (int i = 0; i < 6; ++i) {
      const auto loss_fn = [&] {
        return i % 2 == 0 ? (always * sometimes).abs().sum() : always.square().sum();
      };
      const auto before = sometimes.detach().clone();
      if (split) {
        optimizer.begin();
        optimizer.zero_grad();
        auto loss = loss_fn();
        loss.backward();
        optimizer.step(optimizer.probe(loss_fn, loss));
      } else {
        optimizer.step(loss_fn);
      }
      EXPECT_EQ(i % 2 != 0, torch::equal(before, sometimes));
    }
    ended[split] = copies({always, sometimes});
  }
  expect_same_bits(ended[0], ended[1]);
}

TEST(SplitForm, GroupsWithDifferentBrakesHaveNoSingleOne) {
  auto a = torch::randn({20}).set_requires_grad(true);
  auto b = torch::randn({20}).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b},
                      std::make_unique<SAdamOptions>(SAdamOptions(0.1).damping(1)));
  SAdam optimizer(groups);
  (a.sum() + b.sum()).backward();
  const auto brakes = optimizer.probe([&] { return a.sum() + b.sum(); });
  ASSERT_EQ(2u, brakes.per_group.size());
  EXPECT_NE(brakes.per_group[0], brakes.per_group[1]);
  EXPECT_THROW(static_cast<double>(brakes), Error);
  EXPECT_NO_THROW(optimizer.step(brakes));
}

TEST(SplitForm, ReferenceWithSeveralGroupsIsRefused) {
  auto a = torch::randn({20}).set_requires_grad(true);
  auto b = torch::randn({20}).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b});
  SAdam optimizer(groups, SAdamOptions::reference());
  expect_refused([&] { optimizer.probe([&] { return a.sum() + b.sum(); }); },
                 {"group_by_group", "step(closure)"});
}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
bool autocasts() { return at::autocast::is_autocast_enabled(at::kCPU); }
void set_autocast(bool enabled) { at::autocast::set_autocast_enabled(at::kCPU, enabled); }
#else
bool autocasts() { return at::autocast::is_cpu_enabled(); }
void set_autocast(bool enabled) { at::autocast::set_cpu_enabled(enabled); }
#endif

TEST(Precision, ReducedTrainingIsProbedInFullPrecision) {
  // Stands for what a model under autocasting does: the loss it trains on has 8 bits.
  auto w = torch::randn({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).probes(2));
  std::vector<bool> reduced;
  const auto loss_fn = [&] {
    reduced.push_back(autocasts());
    auto loss = w.abs().sum();
    return autocasts() ? loss.to(torch::kBFloat16) : loss;
  };
  set_autocast(true);
  optimizer.step(loss_fn);
  EXPECT_TRUE(autocasts());
  set_autocast(false);
  ASSERT_EQ(6u, reduced.size());
  EXPECT_TRUE(reduced[0]);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_FALSE(reduced[i]);
  EXPECT_FALSE(optimizer.summary().within_noise);
  reduced.clear();
  set_autocast(true);
  optimizer.step(loss_fn);
  set_autocast(false);
  EXPECT_EQ((std::vector<bool>{true, false, false, false}), reduced) << "f(w) is evaluated again in float32";
}

TEST(Precision, AForwardPassUnderAutocastIsNotComparedWithProbes) {
  auto w = torch::randn({50}).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.01).probes(2));
  int evaluations = 0;
  const auto loss_fn = [&] {
    ++evaluations;
    const auto loss = w.abs().sum();
    return autocasts() ? loss.to(torch::kBFloat16).to(torch::kFloat) : loss;
  };
  const CapturedWarnings warnings;
  for (const bool reduced : {true, true, false}) {
    evaluations = 0;
    optimizer.begin();
    optimizer.zero_grad();
    set_autocast(reduced);
    const auto loss = loss_fn();
    set_autocast(false);
    loss.backward();
    optimizer.step(optimizer.probe(loss_fn, loss));
    EXPECT_LT(std::abs(optimizer.summary().differences.at(0)), 50);
  }
  EXPECT_EQ(3, evaluations) << "without autocast, f(w) is the caller's";
  EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
}

TEST(SplitForm, WhatElseIsDrawnBeforeTheProbeDoesNoHarm) {
  torch::manual_seed(3);
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::Dropout(0.5), torch::nn::Linear(8, 1));
  SAdam optimizer(net, SAdamOptions(1e-2).probes(2));
  const auto x = torch::randn({6, 4});
  const auto loss_fn = [&] { return net->forward(x).abs().mean(); };
  const CapturedWarnings warnings;
  for (int i = 0; i < 3; ++i) {
    optimizer.begin();
    optimizer.zero_grad(/*set_to_none=*/i % 2 == 0);
    const auto loss = loss_fn();
    loss.backward();
    const auto noise = torch::rand({3});
    const auto before = generator_state();
    optimizer.step(optimizer.probe({loss_fn}, loss));
    EXPECT_TRUE(torch::equal(before, generator_state()));
    EXPECT_LT(std::abs(optimizer.summary().differences.at(0)), 50) << "one function";
  }
  EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
}

}  // namespace
}  // namespace sadam
