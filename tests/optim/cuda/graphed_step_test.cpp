#include <functional>

#include "nn/qat_net.h"
#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

std::vector<const void*> addresses_of(const torch::nn::Module& module) {
  std::vector<const void*> addresses;
  for (const auto& parameter : module.parameters()) addresses.push_back(parameter.data_ptr());
  return addresses;
}

/// What graphs are compared with eager steps for.
struct Case {
  std::int64_t streams = 0;  ///< that the probes of a captured step must have run on
  GraphOptions options = {};
  bool has_norm = true;  ///< the network has batch norm
};

// Takes steps eagerly and as graphs, from the same start, and compares everything.
template <class Optimizer, class Options>
void expect_a_graph_equals_eager(const Options& options, const Case& c,
                                 const std::function<void(Optimizer&, int)>& before_step) {
  const Deterministic deterministic;
  std::vector<torch::Tensor> states[2];
  std::vector<double> losses[2];
  std::vector<StepSummary> last;
  for (const bool captured : {false, true}) {
    auto net = make_net(0.25, c.has_norm);
    const auto addresses = addresses_of(*net);
    Optimizer optimizer(*net, options);
    torch::manual_seed(5);
    GraphedStep graphed(net, optimizer, loss_of, c.options);
    for (int i = 0; i < 9; ++i) {
      const auto batch = make_batch(i, i % 4 == 3 ? 5 : 8);  // another shape now and then
      if (before_step) before_step(optimizer, i);
      if (captured) {
        graphed(batch);
        ASSERT_TRUE(graphed.is_captured()) << graphed.why_not();
        EXPECT_EQ(graphed.streams(), optimizer.summary().probed ? c.streams : 0);
      } else {
        optimizer.step([&] { return loss_of(*net, batch); });
      }
      losses[captured].push_back(optimizer.summary().loss);
    }
    EXPECT_EQ(addresses_of(*net), addresses);  // the user's storage stays where it is
    states[captured] = state_of(*net);
    last.push_back(optimizer.summary());
    EXPECT_EQ(optimizer.totals().steps, 9);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_TRUE(equal(states[0], states[1]));
  EXPECT_EQ(last[0].differences, last[1].differences);
  EXPECT_EQ(last[0].slopes, last[1].slopes);
  EXPECT_EQ(last[0].lgi, last[1].lgi);
  EXPECT_EQ(last[0].brake, last[1].brake);
}

template <class Optimizer, class Options>
void expect_graphs_equal_eager(const Options& options, const Case& c,
                               const std::function<void(Optimizer&, int)>& before_step = nullptr) {
  in_both_precisions([&] { expect_a_graph_equals_eager<Optimizer>(options, c, before_step); });
}

TEST(GraphedStep, SharedNoiseEqualsEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(3), {3});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(8), {8});
}

TEST(GraphedStep, RivalsEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby}) {
    SCOPED_TRACE(to_string(place));
    expect_graphs_equal_eager<AdamW>(AdamWOptions(1e-2).gradient_at(place).gradient_radius(0.1), {});
    expect_graphs_equal_eager<ProxSGD>(ProxSGDOptions(1e-2).gradient_at(place).gradient_radius(0.1), {});
  }
  expect_graphs_equal_eager<AdamW>(AdamWOptions(1e-2).final_ratio(10).bound_gamma(0.1), {});
}

// Where the gradient is taken may change between steps: it is another graph.
TEST(GraphedStep, FollowsWhereTheGradientIsTaken) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<AdamW>(AdamWOptions(1e-2), {}, [](AdamW& optimizer, int i) {
    auto& whole = static_cast<AdamWOptions&>(optimizer.defaults());
    whole.gradient_at(i % 2 == 0 ? GradientAt::ascent : GradientAt::nearby)
        .gradient_radius(0.1 * (1 + i / 4));
  });
}

// The average is of the weights that a graph writes, and is used where it reads them.
TEST(GraphedStep, WeightsMayBeAveraged) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  std::vector<torch::Tensor> averaged[2];
  std::vector<torch::Tensor> ended[2];
  for (const bool captured : {false, true}) {
    auto net = make_net();
    AdamW optimizer(*net, AdamWOptions(1e-2));
    AveragedWeights average(net, 0.9);
    GraphedStep graphed(net, optimizer, loss_of, GraphOptions().capture(captured));
    torch::manual_seed(5);
    for (int i = 0; i < 6; ++i) {
      graphed(make_batch(i));
      average.update();
      if (i > 1) {  // its kernels are loaded
        const NoWaiting scope;
        EXPECT_NO_THROW(average.update());
      }
      const auto use = average.use();
      averaged[captured] = state_of(*net);
    }
    ended[captured] = state_of(*net);
    EXPECT_FALSE(equal(averaged[captured], ended[captured]));
  }
  EXPECT_TRUE(equal(averaged[0], averaged[1]));
  EXPECT_TRUE(equal(ended[0], ended[1]));
}

// With batch norm, whose buffers every evaluation updates, probes are one after the other; without, side by
// side.
TEST(GraphedStep, FreshNoiseEqualsEagerBitForBit) {
  SADAM_NEEDS_GPU();
  const auto options = SAdamOptions::reference(1e-2);
  expect_graphs_equal_eager<SAdam>(SAdamOptions(options).probes(3), {1});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(options).probes(3), {3, {}, /*has_norm=*/false});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(options).probes(8), {8, {}, /*has_norm=*/false});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(options).probes(5),
                                   {2, GraphOptions().streams(2), /*has_norm=*/false});
}

// The network and the rule of the paper's tables.
TEST(GraphedStep, TheAuthorsRuleOnTheirNetworkEqualsEagerBitForBit) {
  SADAM_NEEDS_GPU();
  for (const std::int64_t probes : {2, 8})
    expect_the_same([&](bool captured) {
      torch::manual_seed(7);
      nn::QATNet net(nn::QATNetOptions{});
      net->to(torch::kCUDA);
      SAdam optimizer(*net, SAdamOptions::reference(1e-3).probes(probes));
      const auto loss = [](nn::QATNetImpl& module, const Batch& batch) {
        return torch::nn::functional::cross_entropy(module.forward(batch[0]), batch[1]);
      };
      GraphedStep step(net, optimizer, loss, GraphOptions().capture(captured));
      std::vector<torch::Tensor> seen;
      for (int i = 0; i < 12; ++i) {
        auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(i));
        const auto images = torch::randn({128, 3, 32, 32}, generator, torch::kFloat).to(torch::kCUDA);
        step({images, torch::randint(100, {128}, generator, torch::kLong).to(torch::kCUDA)});
        EXPECT_EQ(step.is_captured(), captured) << step.why_not();
        EXPECT_EQ(step.streams(), captured ? probes : 0);
        seen.push_back(torch::tensor(optimizer.summary().differences, torch::kDouble));
      }
      for (const auto& tensor : state_of(*net)) seen.push_back(tensor);
      return seen;
    });
}

TEST(GraphedStep, ProbesInPlaceEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(3), {0, GraphOptions().streams(0)});
  expect_graphs_equal_eager<SAdam>(SAdamOptions::reference(1e-2).probes(3), {0, GraphOptions().streams(0)});
}

TEST(GraphedStep, FewerStreamsThanProbesEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(5), {2, GraphOptions().streams(2)});
}

TEST(GraphedStep, ResidualsAndStepsEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(3).statistic(Statistic::residual), {3});
  expect_graphs_equal_eager<SAdam>(
      SAdamOptions(1e-2).directions(Directions::step).statistic(Statistic::residual), {0});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(2).directions(Directions::rademacher), {2});
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(2).directions(Directions::per_tensor), {2});
}

TEST(GraphedStep, BaselinesEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<AdamW>(AdamWOptions(1e-2), {0});
  expect_graphs_equal_eager<ProxSGD>(ProxSGDOptions(1e-2), {0});
}

TEST(GraphedStep, ANewLearningRateReachesTheGraph) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(2), {2}, [](SAdam& optimizer, int i) {
    optimizer.param_groups()[0].options().set_lr(1e-2 / (1 + i));
  });
}

// The loss is evaluated when a step is captured. Afterwards nobody calls it, and nobody waits.
TEST(GraphedStep, LaterStepsOnlyLaunchTheGraph) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2).interval(2));
  int calls = 0;
  GraphedStep step(net, optimizer, [&](SmallNetImpl& module, const Batch& batch) {
    ++calls;
    return loss_of(module, batch);
  });
  const auto batches = std::vector<Batch>{make_batch(0), make_batch(1), make_batch(2)};
  const auto smaller = make_batch(3, 5);
  for (int i = 0; i < 2; ++i) step(batches[0]);  // with probes and without
  for (int i = 0; i < 2; ++i) step(smaller);
  const int before = calls;
  auto& group = static_cast<SAdamOptions&>(optimizer.param_groups()[0].options());
  {
    const NoWaiting scope;
    for (int i = 0; i < 8; ++i) {
      group.damping(0.1 * i).set_lr(1e-2 / (1 + i));
      EXPECT_NO_THROW(step(i % 4 == 3 ? smaller : batches[static_cast<std::size_t>(i % 3)]));
      EXPECT_TRUE(step.is_captured()) << step.why_not();
    }
  }
  EXPECT_EQ(calls, before);
  EXPECT_EQ(optimizer.totals().steps, 12);
}

/// Shares a layer between two places, and has one that is not used.
struct TiedImpl : torch::nn::Cloneable<TiedImpl> {
  TiedImpl() { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(6, 6));
    register_module("second", first.ptr());
    unused = register_module("unused", torch::nn::Linear(6, 6));
    last = register_module("last", torch::nn::Linear(6, 5));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto second = named_children()["second"]->as<torch::nn::Linear>();
    return last->forward(torch::relu(second->forward(torch::relu(first->forward(x)))));
  }
  torch::nn::Linear first{nullptr};
  torch::nn::Linear unused{nullptr};
  torch::nn::Linear last{nullptr};
};
TORCH_MODULE(Tied);

TEST(GraphedStep, SharedLayersAndUnusedOnesEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    torch::manual_seed(7);
    Tied net;
    net->to(torch::kCUDA);
    SAdam optimizer({net->first->weight, net->first->bias, net->unused->weight, net->last->weight},
                    SAdamOptions(1e-2).probes(3));
    const auto loss = [](TiedImpl& module, const Batch& batch) {
      return torch::nn::functional::cross_entropy(module.forward(batch[0].flatten(1).narrow(1, 0, 6)),
                                                  batch[1]);
    };
    GraphedStep step(net, optimizer, loss);
    for (int i = 0; i < 5; ++i) {
      const auto batch = make_batch(i);
      if (captured) {
        step(batch);
        EXPECT_TRUE(step.is_captured()) << step.why_not();
        EXPECT_EQ(step.streams(), 3);
      } else {
        optimizer.step([&] { return loss(*net, batch); });
      }
    }
    EXPECT_GT(optimizer.summary().lgi, 0);
    return state_of(*net);
  });
}

TEST(GraphedStep, ProbesEveryOtherStepEqualEagerBitForBit) {
  SADAM_NEEDS_GPU();
  expect_graphs_equal_eager<SAdam>(SAdamOptions(1e-2).probes(2).interval(2), {2});
}

TEST(GraphedStep, DropoutRepeatsItsMaskWithinAStepAndNotInTheNext) {
  SADAM_NEEDS_GPU();
  // In float32 probes are compared with the very evaluation that has the gradients.
  in_both_precisions([] {
    auto net = make_net(0.5);
    // So close to the weights that float32 does not move: what differs is the masks.
    SAdam optimizer(*net, SAdamOptions(0).weight_decay(0).probes(3).radius(1e-20));
    GraphedStep step(net, optimizer, loss_of);
    const auto batch = make_batch(0);
    step(batch);
    const auto first = optimizer.summary();
    step(batch);
    const auto second = optimizer.summary();
    EXPECT_EQ(first.differences, std::vector<double>(3, 0.0));
    EXPECT_EQ(second.differences, std::vector<double>(3, 0.0));
    EXPECT_NE(first.loss, second.loss);
  });
}

TEST(GraphedStep, CapturingChangesNothing) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(0).weight_decay(0).probes(2));
  torch::manual_seed(5);
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0));
  const auto captured = state_of(*net);
  auto plain = make_net();
  torch::manual_seed(5);
  const auto batch = make_batch(0);
  static_cast<void>(loss_of(*plain, batch));
  EXPECT_TRUE(equal(captured, state_of(*plain)));
}

TEST(GraphedStep, ASkippedStepChangesNothing) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
  GraphedStep step(net, optimizer, loss_of);
  auto batch = make_batch(0);
  step(batch);
  const auto before = state_of(*net);
  step({batch[0] * std::numeric_limits<float>::infinity(), batch[1]});
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_TRUE(equal(state_of(*net), before));
  step(batch);
  EXPECT_EQ(optimizer.totals().steps, 2);
  EXPECT_EQ(optimizer.totals().skipped, 1);
}

TEST(GraphedStep, AGivenBrakeIsWhatTheSplitFormDoes) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net(0);
    SAdam optimizer(*net, SAdamOptions(1e-2).damping(0));
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    for (int i = 0; i < 5; ++i) step(make_batch(i), 0.5 + 0.1 * i);
    EXPECT_EQ(step.is_captured(), captured);
    EXPECT_NEAR(optimizer.summary().brake, 0.9, 1e-15);
    return state_of(*net);
  });
}

// Without a weight decay, a brake on every step is a smaller learning rate.
TEST(GraphedStep, AGivenBrakeScalesTheStepOfAdamW) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  const auto trained = [](auto& net, auto& optimizer, const auto& take) {
    GraphedStep step(net, optimizer, loss_of);
    for (int i = 0; i < 5; ++i) take(step, make_batch(i));
    EXPECT_TRUE(step.is_captured()) << step.why_not();
    return net->fc->weight.detach().clone();
  };
  auto braked = make_net(0);
  SAdam with_brake(*braked, SAdamOptions(1e-2).weight_decay(0));
  const auto found = trained(braked, with_brake, [](auto& step, const Batch& batch) { step(batch, 0.25); });
  auto plain = make_net(0);
  AdamW without(*plain, AdamWOptions(0.25e-2).weight_decay(0));
  const auto expected = trained(plain, without, [](auto& step, const Batch& batch) { step(batch); });
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-6);
  EXPECT_GT((found - make_net(0)->fc->weight).abs().max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
