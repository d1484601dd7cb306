// Without a GPU: steps are the optimizer's own.
#include <sadam/graphed_step.h>

#include <cmath>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

using Inputs = GraphedStep::Inputs;

torch::Tensor loss_on(NoisyNetImpl& net, const Inputs& batch) {
  return torch::nn::functional::cross_entropy(net.forward(batch[0]), batch[1]);
}

TEST(GraphedStepOnTheCpu, TakesTheOptimizersOwnSteps) {
  std::vector<torch::Tensor> ended[2];
  for (const bool graphed : {false, true}) {
    torch::manual_seed(3);
    NoisyNet net;
    const Batch batch;
    SAdam optimizer(*net, SAdamOptions(0.01).probes(3));
    GraphedStep step(net, optimizer, loss_on);
    for (int i = 0; i < 4; ++i) {
      if (graphed)
        step({batch.inputs, batch.targets});
      else
        optimizer.step([&] { return loss_of(net, batch); });
    }
    EXPECT_FALSE(step.is_captured());
    EXPECT_EQ(step.why_not(), "the parameters are on the CPU");
    ended[graphed] = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) ended[graphed].push_back(buffer);
    ended[graphed].push_back(generator_state());
  }
  expect_same_bits(ended[0], ended[1]);
}

TEST(GraphedStepOnTheCpu, TakesTorchsOwnModules) {
  torch::nn::Sequential model(torch::nn::Linear(6, 4), torch::nn::ReLU(), torch::nn::Linear(4, 3));
  const Batch batch;
  SAdam optimizer(*model, SAdamOptions(0.01));
  GraphedStep step(model, optimizer, [](auto& net, const Inputs& b) {
    return torch::nn::functional::cross_entropy(net.forward(b[0]), b[1]);
  });
  const double first = step({batch.inputs, batch.targets}).item<double>();
  for (int i = 0; i < 20; ++i) step({batch.inputs, batch.targets});
  EXPECT_LT(step({batch.inputs, batch.targets}).item<double>(), first);
}

// Of the inputs alone, or of the module and the inputs; of a holder, or of a pointer to any module.
TEST(GraphedStepOnTheCpu, TakesEveryFormOfALoss) {
  std::vector<std::vector<torch::Tensor>> ended;
  for (int form = 0; form < 6; ++form) {
    torch::manual_seed(3);
    NoisyNet net;
    const Batch batch;
    SAdam optimizer(net, SAdamOptions(0.01));
    const std::shared_ptr<torch::nn::Module> pointer = net.ptr();
    const auto of_inputs = [&](const Inputs& inputs) { return loss_on(*net, inputs); };
    const auto of_any_module = [](torch::nn::Module& module, const Inputs& inputs) {
      return loss_on(dynamic_cast<NoisyNetImpl&>(module), inputs);
    };
    const auto with_its_module = [net](const Inputs& inputs) mutable {
      return torch::nn::functional::cross_entropy(net(inputs[0]), inputs[1]);
    };
    GraphedStep step = form == 0   ? GraphedStep(net, optimizer, loss_on)
                       : form == 1 ? GraphedStep(net, optimizer, of_inputs)
                       : form == 2 ? GraphedStep(pointer, optimizer, of_inputs)
                       : form == 3 ? GraphedStep(pointer, optimizer, of_any_module)
                       : form == 4 ? GraphedStep(net.ptr(), optimizer, loss_on)
                                   : GraphedStep(net, optimizer, with_its_module);
    for (int i = 0; i < 3; ++i) step({batch.inputs, batch.targets});
    ended.push_back(copies(net->parameters()));
  }
  for (const auto& weights : ended) expect_same_bits(ended[0], weights);
}

TEST(GraphedStepOnTheCpu, PreparesABatchOnceForAllEvaluations) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(net, SAdamOptions(0.01));
  int prepared = 0;
  GraphedStep step(net, optimizer, loss_on, GraphOptions(), [&](const Inputs& inputs) {
    ++prepared;
    return Inputs{inputs[0] * 2, inputs[1]};
  });
  for (int i = 0; i < 3; ++i) step({batch.inputs, batch.targets});
  EXPECT_EQ(3, prepared);
}

TEST(GraphedStepOnTheCpu, WithABrakeSkipsAStepThatIsNotFinite) {
  NoisyNet net;
  Batch batch;
  SAdam optimizer(net, SAdamOptions(0.01));
  GraphedStep step(net, optimizer, loss_on);
  step({batch.inputs, batch.targets}, 0.5);
  const auto weights = copies(net->parameters());
  const auto buffers = copies(net->buffers());
  const CapturedWarnings warnings;
  step({batch.inputs * std::nan(""), batch.targets}, 0.5);
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(1, optimizer.totals().skipped);
  EXPECT_EQ(1, optimizer.totals().steps);
  expect_same_bits(weights, net->parameters());
  expect_same_bits(buffers, net->buffers());
  EXPECT_EQ(1u, warnings.count("1 step was skipped"));
}

// An optimizer made from parameters knows nothing of batch norm.
TEST(GraphedStepOnTheCpu, LeavesBuffersAsOneEvaluationDoes) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(net->parameters(), SAdamOptions(0.01).probes(4));
  GraphedStep step(net, optimizer, loss_on);
  for (int i = 0; i < 3; ++i) step({batch.inputs, batch.targets});
  EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 3);
}

TEST(GraphedStepOnTheCpu, ProbesWithTheLossThatItIsTold) {
  const Batch batch;
  const auto train = [&](bool by_request) {
    torch::manual_seed(2);
    NoisyNet net;
    SAdam optimizer(*net, SAdamOptions(0.01).probes(2));
    const auto on_part = [&](const std::vector<torch::Tensor>& inputs) {
      return loss_on(*net, {inputs[0].narrow(0, 0, 4), inputs[1].narrow(0, 0, 4)});
    };
    GraphedStep step(net, optimizer, loss_on);
    step.probe_with(on_part);
    StepRequest request;
    request.parts = {[&] { return loss_on(*net, {batch.inputs, batch.targets}); }};
    request.probe_parts = {[&] { return on_part({batch.inputs, batch.targets}); }};
    for (int i = 0; i < 3; ++i)
      if (by_request)
        optimizer.step(request);
      else
        step({batch.inputs, batch.targets});
    return net->parameters();
  };
  expect_same_bits(train(true), train(false));
}

TEST(GraphedStepOnTheCpu, RefusesALossOfAnotherModel) {
  NoisyNet trained;
  NoisyNet other;
  const Batch batch;
  SAdam optimizer(*trained, SAdamOptions(0.01));
  GraphedStep step(other, optimizer, loss_on);
  expect_refused([&] { step({batch.inputs, batch.targets}); }, {"no parameter", "gradient"});
}

TEST(GraphedStepOnTheCpu, TakesABrakeOfTheCallers) {
  torch::manual_seed(3);
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01));
  GraphedStep step(net, optimizer, loss_on);
  const auto loss = step({batch.inputs, batch.targets}, 0.25);
  EXPECT_EQ(optimizer.summary().brake, 0.25);
  EXPECT_EQ(optimizer.summary().loss, loss.item<double>());
  expect_refused([&] { step({batch.inputs, batch.targets}, -1); }, {"brake", "at least 0"});
  AdamW adamw(*net);
  GraphedStep without(net, adamw, loss_on);
  expect_refused([&] { without({batch.inputs, batch.targets}, 0.5); }, {"only SAdam takes a brake"});
}

TEST(GraphedStepOnTheCpu, RefusesAnOptimizerThatWasMovedAway) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions(0.01));
  GraphedStep step(net, optimizer, loss_on);
  const SAdam elsewhere(std::move(optimizer));
  expect_refused([&] { step({batch.inputs, batch.targets}); }, {"moved"});
}

TEST(GraphedStepOnTheCpu, WithoutStreamsMovesTheWeightsInPlace) {
  struct NetImpl : torch::nn::Module {
    NetImpl() { w = register_parameter("w", torch::ones({3})); }
    torch::Tensor w;
  };
  auto net = std::make_shared<NetImpl>();
  const auto view = net->w.view({-1});
  SAdam optimizer(*net, SAdamOptions(0).weight_decay(0));
  GraphedStep step(
      net, optimizer, [&](const GraphedStep::Inputs&) { return view.square().sum(); },
      GraphOptions().streams(0));
  const CapturedWarnings warnings;
  step({});
  EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
  EXPECT_NE(optimizer.summary().differences.at(0), 0);
}

}  // namespace
}  // namespace sadam
