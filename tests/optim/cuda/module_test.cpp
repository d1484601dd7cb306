// Modules and losses of all kinds, under capture.
#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

// Its kernel stops the device for good when it meets a NaN.
TEST(GraphedModule, ALossThatTakesNumbersBetween0And1IsCaptured) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
  GraphedStep step(net, optimizer, [](SmallNetImpl& n, const Batch& b) {
    return torch::binary_cross_entropy(torch::sigmoid(n.forward(b[0])).select(1, 0),
                                       b[1].to(torch::kFloat) / 5);
  });
  for (int i = 0; i < 3; ++i) step(make_batch(i));
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(step.streams(), 2);
  EXPECT_EQ(optimizer.totals().steps, 3);
}

// Weights of zero, and classes that are all alike to it.
TEST(GraphedModule, ANetworkThatStartsFromZeroIsProbedSideBySide) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  {
    const torch::NoGradGuard no_grad;
    net->fc->weight.zero_();
    net->fc->bias.zero_();
  }
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0));
  EXPECT_EQ(step.streams(), 2);
}

TEST(GraphedModule, GradientsOutsideTheOptimizerAreLeftAlone) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net(0);  // all of which requires gradients
    SAdam optimizer(net->fc->parameters(), SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 8; ++i) {
      step(make_batch(i, i % 3 == 2 ? 5 : 8));
      if (captured) {
        EXPECT_TRUE(step.is_captured()) << step.why_not();
        EXPECT_FALSE(net->conv->weight.grad().defined());
      }
      net->zero_grad();
    }
    return state_of(*net);
  });
}

TEST(GraphedModule, AnErrorInAnyEvaluationLeavesTheWeightsAsTheyWere) {
  SADAM_NEEDS_GPU();
  for (const std::int64_t streams : {-1, 0})
    for (int failing = 1; failing <= 16; ++failing) {
      auto net = make_net();
      SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
      int evaluation = 0;
      GraphedStep step(
          net, optimizer,
          [&](SmallNetImpl& n, const Batch& b) {
            if (++evaluation == failing) throw Error("this one fails.");
            return loss_of(n, b);
          },
          GraphOptions().streams(streams));
      const auto before = state_of(*net);
      bool failed = false;
      try {
        step(make_batch(0));
      } catch (const Error&) {
        failed = true;
      }
      if (failed) {
        EXPECT_TRUE(equal(state_of(*net), before)) << "evaluation " << failing << ", streams " << streams;
        EXPECT_EQ(optimizer.totals().steps, 0);
        step(make_batch(0));
      }
      EXPECT_EQ(optimizer.totals().steps, 1);  // captured, or, where the capture failed, eager
    }
}

TEST(GraphedModule, AFrozenParameterThatWasReplacedReachesTheGraph) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net(0);
    net->conv->weight.set_requires_grad(false);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 3; ++i) step(make_batch(i));
    net->conv->weight.set_data(net->conv->weight.detach() * -2);
    for (int i = 3; i < 6; ++i) step(make_batch(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    return state_of(*net);
  });
}

TEST(GraphedModule, ABufferOnTheCpuIsNamed) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  net->register_buffer("forgotten", torch::zeros({3}));
  SAdam optimizer(net->parameters(), SAdamOptions(1e-2));
  GraphedStep step(net, optimizer, loss_of);
  EXPECT_TRUE(says(refusal([&] { step(make_batch(0)); }), "forgotten"));
}

TEST(GraphedModule, StreamsAreThoseOfTheLastStep) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3).interval(2));
  GraphedStep step(net, optimizer, loss_of);
  for (int i = 0; i < 6; ++i) {
    step(make_batch(i));
    EXPECT_EQ(step.streams(), i % 2 == 0 ? 3 : 0) << "step " << i;
  }
}

// The caller may refill its memory as soon as the step returns, however far behind the device is.
TEST(GraphedModule, InputsOnTheHostAreCopiedBeforeTheStepReturns) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  std::vector<Batch> on_host;
  for (int i = 0; i < 10; ++i) {
    const auto batch = make_batch(i);
    on_host.push_back({batch[0].cpu(), batch[1].cpu()});
  }
  const auto slow = torch::randn({4096, 4096}, torch::kCUDA);
  std::vector<torch::Tensor> states[2];
  for (const bool pinned : {false, true}) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of);
    const auto images = torch::empty({8, 3, 6, 6}).pin_memory();
    const auto labels = torch::empty({8}, torch::kLong).pin_memory();
    for (const auto& batch : on_host) {
      for (int i = 0; i < 5; ++i) static_cast<void>(torch::mm(slow, slow));
      images.copy_(batch[0]);
      labels.copy_(batch[1]);
      if (pinned)
        step({images, labels});
      else
        step({batch[0].to(torch::kCUDA), batch[1].to(torch::kCUDA)});
    }
    states[pinned] = state_of(*net);
  }
  EXPECT_TRUE(equal(states[0], states[1]));
}

TEST(GraphedModule, WhatDoesNotDependOnTheWeightsCanBePreparedOnce) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool prepares) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep::Prepare prepare;
    if (prepares) prepare = [](const Batch& b) { return Batch{b[0] * 2, b[1]}; };
    GraphedStep step(
        net, optimizer,
        [prepares](SmallNetImpl& n, const Batch& b) {
          return loss_of(n, {prepares ? b[0] : b[0] * 2, b[1]});
        },
        GraphOptions(), prepare);
    for (int i = 0; i < 4; ++i) step(make_batch(i));
    EXPECT_TRUE(step.is_captured()) << step.why_not();
    return state_of(*net);
  });
}

}  // namespace
}  // namespace sadam::optim::cuda_test
