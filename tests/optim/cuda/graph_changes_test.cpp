// What changes between steps reaches the graph.
#include <ATen/autocast_mode.h>

#include <functional>

#include "optim/cuda/support.h"
#include "step/precision.h"

namespace sadam::optim::cuda_test {
namespace {

TEST(GraphedStep, WhateverMayChangeBetweenStepsReachesTheGraph) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    torch::manual_seed(5);
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    auto& whole = static_cast<SAdamOptions&>(optimizer.defaults());
    auto& group = static_cast<SAdamOptions&>(optimizer.param_groups()[0].options());
    const std::vector<std::function<void()>> changes = {
        [] {},
        [&] {
          group.damping(0.5).weight_decay(0.1).betas({0.8, 0.99});
        },
        [&] { whole.radius(0.1); },
        [&] { whole.probes(3); },
        [&] { whole.statistic(Statistic::residual).directions(Directions::rademacher); },
        [&] { net->norm->eval(); },
        [&] { net->conv->bias.set_requires_grad(false); },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      changes[i]();
      step(make_batch(static_cast<std::int64_t>(i)));
      step(make_batch(static_cast<std::int64_t>(i) + 100));
      EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    }
    return state_of(*net);
  });
}

// Runs `change` in the middle, eagerly and captured, and compares what comes out.
void expect_a_change_to_reach_the_graph(const std::function<void(SmallNet&)>& change,
                                        std::int64_t size_afterwards = 8) {
  expect_the_same([&](bool captured) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    torch::manual_seed(5);
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 3; ++i) step(make_batch(i));
    change(net);
    for (int i = 3; i < 6; ++i) step(make_batch(i, size_afterwards));
    for (int i = 6; i < 8; ++i) step(make_batch(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    return state_of(*net);
  });
}

TEST(GraphedStep, WeightsAndBuffersLoadedInBetweenReachTheGraph) {
  SADAM_NEEDS_GPU();
  expect_a_change_to_reach_the_graph([](SmallNet& net) {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.set_data(parameter.detach() * 0.5);
    for (auto& buffer : net->buffers()) buffer.set_data(buffer.clone());
  });
}

TEST(GraphedStep, AParameterFrozenBeforeABatchOfAnotherSizeIsLeftAlone) {
  SADAM_NEEDS_GPU();
  expect_a_change_to_reach_the_graph([](SmallNet& net) { net->conv->weight.set_requires_grad(false); }, 5);
}

TEST(GraphedStep, AutocastingSeesTheNewWeightsInEveryStep) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  for (const double damping : {0.0, 2.0}) {
    std::vector<torch::Tensor> states[2];
    for (const bool captured : {false, true}) {
      auto net = make_net(0);
      SAdam optimizer(*net, SAdamOptions(1e-2).probes(2).damping(damping));
      GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
      step::PrecisionState before;
      step::use_autocast(true, at::kBFloat16);
      std::vector<double> losses;
      for (int i = 0; i < 6; ++i) {
        step(make_batch(0));
        losses.push_back(optimizer.summary().loss);
        const torch::NoGradGuard no_grad;
        net->eval();
        static_cast<void>(net->forward(make_batch(0)[0]));  // leaves casts behind
        net->train();
      }
      {  // what comes after a step sees its weights too
        const torch::NoGradGuard no_grad;
        net->eval();
        const auto afterwards = net->forward(make_batch(0)[0]);
        at::autocast::clear_cache();
        EXPECT_TRUE(torch::equal(afterwards, net->forward(make_batch(0)[0])));
        net->train();
      }
      before.restore();
      at::autocast::clear_cache();
      EXPECT_LT(losses.back(), losses.front());
      for (std::size_t i = 1; i < losses.size(); ++i) EXPECT_NE(losses[i], losses[i - 1]);
      states[captured] = state_of(*net);
    }
    EXPECT_TRUE(equal(states[0], states[1]));
  }
}

TEST(GraphedStep, AClearedStateReachesTheGraph) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 3; ++i) step(make_batch(i));
    optimizer.state().clear();
    for (int i = 3; i < 6; ++i) step(make_batch(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    return state_of(*net);
  });
}

// Captured on the GPU and eager on the CPU, to and fro, as the optimizer's own steps are.
TEST(GraphedStep, AModelThatIsMovedIsFollowed) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool graphed) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of);
    for (int i = 0; i < 9; ++i) {
      const auto device = torch::Device(i / 3 == 1 ? torch::kCPU : torch::kCUDA);
      net->zero_grad(/*set_to_none=*/true);
      net->to(device);
      auto batch = make_batch(i);
      for (auto& tensor : batch) tensor = tensor.to(device);
      if (graphed) {
        step(batch);
        EXPECT_EQ(step.is_captured(), device.is_cuda()) << step.why_not();
      } else {
        optimizer.step([&] { return loss_of(*net, batch); });
      }
    }
    EXPECT_EQ(optimizer.totals().steps, 9);
    return state_of(*net);
  });
}

TEST(GraphedStep, ALoadedStateReachesTheGraph) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 2; ++i) step(make_batch(i));
    std::stringstream saved;
    torch::save(optimizer, saved);
    for (int i = 2; i < 5; ++i) step(make_batch(i));
    torch::load(optimizer, saved);
    EXPECT_EQ(optimizer.totals().steps, 2);
    for (int i = 5; i < 8; ++i) step(make_batch(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    EXPECT_EQ(optimizer.totals().steps, 5);
    return state_of(*net);
  });
}

}  // namespace
}  // namespace sadam::optim::cuda_test
