// Without a GPU: steps are the optimizer's own.
#include <sadam/graphed_step.h>

#include "support/models.h"

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

// An optimizer made from parameters knows nothing of batch norm.
TEST(GraphedStepOnTheCpu, LeavesBuffersAsOneEvaluationDoes) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(net->parameters(), SAdamOptions(0.01).probes(4));
  GraphedStep step(net, optimizer, loss_on);
  for (int i = 0; i < 3; ++i) step({batch.inputs, batch.targets});
  EXPECT_EQ(net->norm->num_batches_tracked.item<std::int64_t>(), 3);
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

}  // namespace
}  // namespace sadam
