// A step told in full: parts, what comes before the update, a brake.
#include <cmath>

#include "support/models.h"
#include "support/warnings.h"

namespace sadam {
namespace {

using namespace sadam::testing;

// The batch in two halves, whose losses add up to that of the whole.
struct Halves {
  Halves() : net((torch::manual_seed(2), NoisyNet())), inputs(torch::randn({16, 6}, torch::kDouble)) {
    net->to(torch::kDouble);
  }
  torch::Tensor part(std::int64_t first, std::int64_t end) {
    const auto rows = torch::indexing::Slice(first, end);
    return torch::nn::functional::cross_entropy(net->forward(inputs.index({rows})), targets.index({rows})) *
           (static_cast<double>(end - first) / 16);
  }
  StepRequest request() {
    StepRequest request;
    request.parts = {[this] { return part(0, 8); }, [this] { return part(8, 16); }};
    return request;
  }
  std::vector<torch::Tensor> everything() const {
    auto all = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) all.push_back(buffer);
    all.push_back(generator_state());
    return all;
  }
  NoisyNet net;
  torch::Tensor inputs;
  torch::Tensor targets = torch::randint(0, 3, {16}, torch::kLong);
};

template <class Optimizer, class Options>
void expect_parts_equal_the_whole(const Options& options) {
  std::vector<torch::Tensor> ended[2];
  double losses[2] = {};
  for (const bool parted : {false, true}) {
    Halves halves;
    halves.net->dropout->options.p(0);
    halves.net->norm->eval();  // it would look at each half by itself
    Optimizer optimizer(*halves.net, options);
    for (int i = 0; i < 4; ++i) {
      const auto loss =
          parted ? optimizer.step(halves.request()) : optimizer.step([&] { return halves.part(0, 16); });
      losses[parted] = loss.template item<double>();
    }
    EXPECT_EQ(losses[parted], optimizer.summary().loss);
    ended[parted] = copies(halves.net->parameters());
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-12);
  for (std::size_t i = 0; i < ended[0].size(); ++i)
    EXPECT_TRUE(torch::allclose(ended[0][i], ended[1][i], 1e-9, 1e-9)) << i;
}

TEST(StepRequest, InPartsIsTheStepOfTheirSum) {
  expect_parts_equal_the_whole<SAdam>(SAdamOptions(0.01).eps(1e-4));
  expect_parts_equal_the_whole<SAdam>(SAdamOptions(0.01).eps(1e-4).statistic(Statistic::residual));
  expect_parts_equal_the_whole<AdamW>(AdamWOptions(0.01).eps(1e-4));
  expect_parts_equal_the_whole<ProxSGD>(ProxSGDOptions(0.01));
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby})
    expect_parts_equal_the_whole<AdamW>(AdamWOptions(0.01).eps(1e-4).gradient_at(place));
}

// A probe next to the weights sees next to the same loss: other masks would show.
TEST(StepRequest, InPartsSeesTheSameMasksInAllEvaluations) {
  for (const bool split : {false, true}) {
    Halves halves;
    SAdam optimizer(*halves.net, SAdamOptions(0.01).radius(1e-7).probes(4));
    const CapturedWarnings warnings;
    for (int i = 0; i < 3; ++i) {
      const auto request = halves.request();
      if (split) {
        optimizer.begin();
        optimizer.zero_grad();
        torch::Tensor sum;
        for (const auto& part : request.parts) {
          auto loss = part();
          loss.backward();
          sum = sum.defined() ? sum + loss.detach() : loss.detach();
        }
        optimizer.step(optimizer.probe(request.parts, sum));
      } else {
        optimizer.step(request);
      }
      ASSERT_EQ(4u, optimizer.summary().differences.size());
      for (const double difference : optimizer.summary().differences) EXPECT_LT(std::abs(difference), 50);
      const auto masks = halves.net->masks;
      EXPECT_FALSE(torch::equal(masks[0], masks[1])) << "each part has its own";
    }
    EXPECT_TRUE(warnings.sentences().empty());
    EXPECT_EQ(6, halves.net->norm->num_batches_tracked.item<std::int64_t>()) << "two in each step";
  }
}

// f is trained, h is probed.
TEST(StepRequest, ProbesMayLookAtAnotherLossThanTheOneThatIsTrained) {
  const auto f = [](const torch::Tensor& w) { return (w * w).sum(); };
  const auto h = [](const torch::Tensor& w) { return (w.abs() * torch::arange(1, 6, torch::kDouble)).sum(); };
  const auto start = torch::tensor({0.3, -0.01, 0.002, -0.7, 0.5}, torch::kDouble);
  const auto options = SAdamOptions(0.01).probes(6).radius(0.05).seed(3);

  auto of_h = start.clone().set_requires_grad(true);
  SAdam alone({of_h}, options);
  alone.step([&] { return h(of_h); });

  auto w = start.clone().set_requires_grad(true);
  SAdam optimizer({w}, options);
  StepRequest request;
  request.parts = {[&] { return f(w); }};
  request.probe_parts = {[&] { return h(w); }};
  const auto loss = optimizer.step(request);
  EXPECT_EQ(f(start).item<double>(), loss.item<double>());
  EXPECT_EQ(alone.summary().differences, optimizer.summary().differences);
  EXPECT_EQ(alone.summary().lgi, optimizer.summary().lgi);

  auto braked = start.clone().set_requires_grad(true);
  SAdam by_hand({braked}, options);
  by_hand.zero_grad();
  f(braked).backward();
  by_hand.step(optimizer.summary().brake);
  EXPECT_TRUE(torch::equal(w, braked)) << "the gradient is that of f";
}

TEST(StepRequest, PartOfABatchIsOneFunctionToo) {
  const Batch batch;
  auto first = batch;
  first.inputs = batch.inputs.narrow(0, 0, 4);
  first.targets = batch.targets.narrow(0, 0, 4);
  const auto train = [&](bool in_part) {
    torch::manual_seed(8);
    NoisyNet net;
    const CapturedWarnings warnings;
    SAdam optimizer(*net, SAdamOptions(0).probes(3).radius(1e-6));
    StepRequest request;
    request.parts = {[&] { return loss_of(net, batch); }};
    if (in_part) request.probe_parts = {[&] { return loss_of(net, first); }};
    for (int i = 0; i < 2; ++i) {
      net->masks.clear();
      optimizer.step(request);
    }
    EXPECT_TRUE(warnings.sentences().empty()) << warnings.sentences().front();
    EXPECT_EQ(2, net->norm->num_batches_tracked.item<std::int64_t>()) << "once in each step";
    EXPECT_EQ(in_part ? 5u : 4u, net->masks.size());
    for (std::size_t i = in_part ? 2 : 1; i < net->masks.size(); ++i)
      EXPECT_TRUE(torch::equal(net->masks[i], net->masks[in_part ? 1 : 0])) << i;
    for (const double difference : optimizer.summary().differences) EXPECT_LT(std::abs(difference), 50);
    return torch::rand({1}).item<float>();  // where the generator is now
  };
  EXPECT_EQ(train(false), train(true));
}

TEST(StepRequest, RefusesToProbeAPartWhereTheGradientIsOfTheWhole) {
  auto w = torch::ones({3}).set_requires_grad(true);
  StepRequest request;
  request.parts = request.probe_parts = {[&] { return (w * w).sum(); }};
  SAdam residual({w}, SAdamOptions(0.1).statistic(Statistic::residual));
  expect_refused([&] { residual.step(request); }, {"'residual'", "the whole loss", "probe_parts"});
  AdamW plain({w}, AdamWOptions(0.1));
  expect_refused([&] { plain.step(request); }, {"only SAdam probes"});
  request.probe_parts = {nullptr};
  SAdam sadam({w});
  expect_refused([&] { sadam.step(request); }, {"no function"});
  EXPECT_TRUE(torch::equal(w, torch::ones({3})));
}

TEST(StepRequest, IsTheSplitFormWithoutItsCeremony) {
  std::vector<torch::Tensor> ended[2];
  for (const bool split : {false, true}) {
    Halves halves;
    SAdam optimizer(*halves.net, SAdamOptions(0.01));
    for (int i = 0; i < 4; ++i) {
      auto request = halves.request();
      const auto clip = [&] { torch::nn::utils::clip_grad_norm_(halves.net->parameters(), 0.1); };
      if (split) {
        optimizer.begin();
        optimizer.zero_grad();
        auto sum = torch::zeros({}, torch::kDouble);
        for (const auto& part : request.parts) {
          auto loss = part();
          loss.backward();
          sum = sum + loss.detach();
        }
        const auto brakes = optimizer.probe(request.parts, sum);
        clip();
        optimizer.step(brakes);
      } else {
        request.before_update = clip;
        optimizer.step(request);
      }
    }
    ended[split] = halves.everything();
  }
  expect_same_bits(ended[0], ended[1]);
}

TEST(StepRequest, CallsBeforeUpdateOnceAfterTheProbes) {
  auto w = torch::full({4}, 2.0, torch::kDouble).set_requires_grad(true);
  SAdam optimizer({w}, SAdamOptions(0.1)
                           .weight_decay(0)
                           .bias_correction(BiasCorrection::none)
                           .eps(1)
                           .statistic(Statistic::residual));
  int evaluations = 0;
  std::vector<int> called_after;
  StepRequest request;
  request.parts = {[&] {
    ++evaluations;
    return 1000 * w.sum();
  }};
  request.before_update = [&] {
    called_after.push_back(evaluations);
    torch::nn::utils::clip_grad_norm_({w}, 1.0);
  };
  optimizer.step(request);
  EXPECT_EQ((std::vector<int>{evaluations}), called_after);
  const double g = w.grad()[0].item<double>();
  EXPECT_NEAR(0.5, g, 1e-6);
  EXPECT_GT(std::abs(optimizer.summary().slopes[0]), 10) << "slopes are those of the gradient itself";
  EXPECT_NEAR(2 - 0.1 * optimizer.summary().brake * 0.1 * g / (std::sqrt(0.001) * g + 1), w[0].item<double>(),
              1e-12);
}

TEST(StepRequest, CallsBeforeUpdateForTheBaselinesToo) {
  auto w = torch::ones({3}).set_requires_grad(true);
  StepRequest request;
  request.parts = {[&] { return w.sum(); }, [&] { return w.sum(); }};
  request.before_update = [&] { w.mutable_grad().mul_(-1); };
  ProxSGD prox({w}, ProxSGDOptions(0.1).l1(0));
  prox.step(request);
  EXPECT_TRUE(torch::allclose(w, torch::full({3}, 1.2f)));
  AdamW adamw({w}, AdamWOptions(0.1).weight_decay(0));
  adamw.step(request);
  EXPECT_TRUE(torch::allclose(w, torch::full({3}, 1.3f)));
}

TEST(StepRequest, TakesABrakeOfTheCallersInsteadOfProbes) {
  Halves halves;
  SAdam optimizer(*halves.net, SAdamOptions(0.01));
  auto request = halves.request();
  request.brake = 0.25;
  optimizer.step(request);
  EXPECT_EQ(2u, halves.net->masks.size());
  EXPECT_FALSE(optimizer.summary().probed);
  EXPECT_EQ(0.25, optimizer.summary().brake);
  request.brake = -1;
  expect_refused([&] { optimizer.step(request); }, {"brake", "-1", "at least 0"});
}

template <class Optimizer>
void expect_a_skip() {
  Halves halves;
  Optimizer optimizer(*halves.net);
  optimizer.step(halves.request());
  const auto weights = copies(halves.net->parameters());
  const auto buffers = copies(halves.net->buffers());
  const CapturedWarnings warnings;
  int calls = 0;
  auto request = halves.request();
  request.parts.push_back([&] { return halves.part(0, 8) * std::nan(""); });
  request.before_update = [&] { ++calls; };
  const auto evaluations = halves.net->masks.size();
  EXPECT_TRUE(std::isnan(optimizer.step(request).template item<double>()));
  EXPECT_EQ(evaluations + 3, halves.net->masks.size()) << "nothing is probed";
  EXPECT_EQ(0, calls);
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(1, optimizer.totals().skipped);
  EXPECT_EQ(1, optimizer.totals().steps);
  expect_same_bits(weights, halves.net->parameters());
  expect_same_bits(buffers, halves.net->buffers());
  EXPECT_EQ(1u, warnings.count("skipped"));
}

TEST(StepRequest, WithAPartThatIsNotFiniteIsSkippedAndCounted) {
  expect_a_skip<SAdam>();
  expect_a_skip<AdamW>();
  expect_a_skip<ProxSGD>();
}

TEST(StepRequest, IsRefusedWhereItAsksForTheImpossible) {
  Halves halves;
  AdamW adamw(*halves.net);
  ProxSGD prox(*halves.net);
  SAdam sadam(*halves.net);
  auto braked = halves.request();
  braked.brake = 0.5;
  expect_refused([&] { adamw.step(braked); }, {"AdamW", "only SAdam takes a brake"});
  expect_refused([&] { prox.step(braked); }, {"ProxSGD", "only SAdam takes a brake"});
  for (auto* const optimizer : std::vector<Optimizer*>{&adamw, &prox, &sadam}) {
    expect_refused([&] { optimizer->step(StepRequest()); }, {"no parts"});
    auto hollow = halves.request();
    hollow.parts.push_back(nullptr);
    expect_refused([&] { optimizer->step(hollow); }, {"no function"});
  }
  EXPECT_TRUE(halves.net->masks.empty());
}

}  // namespace
}  // namespace sadam
