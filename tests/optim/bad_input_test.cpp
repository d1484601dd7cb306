// Everything a caller can get wrong: one sentence, and nothing has changed.
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "support/models.h"
#include "support/refusal.h"

namespace sadam {
namespace {

using namespace sadam::testing;
using torch::optim::OptimizerParamGroup;

std::vector<torch::Tensor> one() { return {torch::ones({3}).set_requires_grad(true)}; }

TEST(BadOptions, OfSAdamAreNamed) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const auto refused = [](const SAdamOptions& options, const std::vector<std::string>& words) {
    expect_refused([&] { SAdam optimizer(one(), options); }, words);
  };
  refused(SAdamOptions(-1), {"lr", "-1"});
  refused(SAdamOptions(nan), {"lr", "nan"});
  refused(SAdamOptions(inf), {"lr", "inf"});
  refused(SAdamOptions().betas({1.0, 0.9}), {"beta1", "1"});
  refused(SAdamOptions().betas({0.9, -0.1}), {"beta2", "-0.1"});
  refused(SAdamOptions().eps(-1e-8), {"eps"});
  refused(SAdamOptions().weight_decay(-1), {"weight_decay"});
  refused(SAdamOptions().damping(-2), {"damping", "-2"});
  refused(SAdamOptions().amsgrad(true), {"amsgrad"});
  refused(SAdamOptions().probes(0), {"probes", "0"});
  refused(SAdamOptions().probes(65536), {"probes"});
  refused(SAdamOptions().radius(0), {"radius"});
  refused(SAdamOptions().radius(nan), {"radius"});
  refused(SAdamOptions().lgi_eps(-1), {"lgi_eps"});
  refused(SAdamOptions().cap(0), {"cap"});
  refused(SAdamOptions().cap(nan), {"cap"});
  refused(SAdamOptions().interval(0), {"interval"});
  refused(SAdamOptions().directions(static_cast<Directions>(9)), {"directions"});
  refused(SAdamOptions().statistic(static_cast<Statistic>(9)), {"statistic"});
  refused(SAdamOptions().noise(static_cast<ProbeNoise>(9)), {"noise"});
  refused(SAdamOptions().brake(static_cast<Brake>(9)), {"brake"});
  refused(SAdamOptions().bias_correction(static_cast<BiasCorrection>(9)), {"bias_correction"});
  refused(SAdamOptions().directions(Directions::step), {"step", "residual"});
}

TEST(BadOptions, OfTheBaselinesAreNamed) {
  expect_refused([] { AdamW optimizer(one(), AdamWOptions(-1)); }, {"lr", "-1"});
  expect_refused([] { AdamW optimizer(one(), AdamWOptions().betas({0.9, 1.0})); }, {"beta2"});
  expect_refused([] { AdamW optimizer(one(), AdamWOptions().amsgrad(true)); }, {"amsgrad"});
  expect_refused([] { ProxSGD optimizer(one(), ProxSGDOptions(-1)); }, {"lr"});
  expect_refused([] { ProxSGD optimizer(one(), ProxSGDOptions().momentum(1)); }, {"momentum"});
  expect_refused([] { ProxSGD optimizer(one(), ProxSGDOptions().l1(-1)); }, {"l1"});
}

TEST(BadOptions, SetLaterAreCaughtAtTheStep) {
  auto w = one();
  SAdam optimizer(w);
  optimizer.param_groups()[0].options().set_lr(-3);
  expect_refused([&] { optimizer.step([&] { return w[0].sum(); }); }, {"lr", "-3"});
  expect_same_bits({torch::ones({3})}, w);
  EXPECT_FALSE(w[0].grad().defined());
}

TEST(BadGroups, MayNotSetAnOptionOfTheOptimizer) {
  const auto with = [](const SAdamOptions& options, const SAdamOptions& of_group) {
    std::vector<OptimizerParamGroup> groups;
    groups.emplace_back(one());
    groups.emplace_back(one(), std::make_unique<SAdamOptions>(of_group));
    SAdam optimizer(groups, options);
  };
  expect_refused([&] { with(SAdamOptions(), SAdamOptions().probes(4)); }, {"group 1", "probes", "optimizer"});
  expect_refused([&] { with(SAdamOptions(), SAdamOptions().radius(1)); }, {"group 1", "radius"});
  expect_refused([&] { with(SAdamOptions(), SAdamOptions().seed(1)); }, {"group 1", "seed"});
  expect_refused([&] { with(SAdamOptions(), SAdamOptions::reference()); }, {"group 1", "directions"});
  expect_refused(
      [&] { with(SAdamOptions(), SAdamOptions().source([](const auto&) { return torch::Tensor(); })); },
      {"group 1", "source"});
  EXPECT_NO_THROW(with(SAdamOptions().probes(4), SAdamOptions().probes(4)))
      << "the same value is no other value";
  EXPECT_NO_THROW(with(SAdamOptions().probes(4), SAdamOptions(0.1))) << "nor is silence";
}

TEST(BadGroups, AreRefusedWhenAddedLater) {
  auto w = one();
  SAdam optimizer(w);
  expect_refused(
      [&] {
        optimizer.add_param_group(
            OptimizerParamGroup(one(), std::make_unique<SAdamOptions>(SAdamOptions().probes(4))));
      },
      {"group 1", "probes"});
  expect_refused([&] { optimizer.add_param_group(OptimizerParamGroup(w)); }, {"given twice"});
  expect_refused(
      [&] { optimizer.add_param_group(OptimizerParamGroup(one(), std::make_unique<AdamWOptions>())); },
      {"group 1", "another optimizer", "SAdamOptions"});
  EXPECT_EQ(1u, optimizer.param_groups().size());
  auto late = one();
  optimizer.add_param_group(OptimizerParamGroup(late));
  optimizer.step([&] { return w[0].sum() + late[0].sum(); });
  EXPECT_FALSE(torch::equal(late[0], torch::ones({3})));
}

TEST(BadGroups, SmuggledInThroughTheBaseClassAreCaughtAtTheStep) {
  auto w = one();
  SAdam optimizer(w);
  torch::optim::Optimizer& base = optimizer;
  base.add_param_group(OptimizerParamGroup(w));
  expect_refused([&] { optimizer.step([&] { return w[0].sum(); }); }, {"given twice"});
  expect_same_bits({torch::ones({3})}, w);
}

template <class Make>
void expect_parameters_refused(const std::vector<torch::Tensor>& parameters, Make&& make,
                               const std::vector<std::string>& words) {
  expect_refused([&] { make(parameters); }, words);
}

TEST(BadParameters, AreNamedByEveryOptimizer) {
  const std::vector<std::pair<std::vector<torch::Tensor>, std::vector<std::string>>> cases{
      {{torch::ones({2}), torch::ones({2}).to_sparse()}, {"parameter 1", "sparse"}},
      {{torch::ones({2}, torch::kComplexFloat)}, {"parameter 0", "complex"}},
      {{torch::ones({2}, torch::kHalf)}, {"parameter 0", "Half", "float32"}},
      {{torch::ones({2}, torch::kBFloat16)}, {"parameter 0", "BFloat16"}},
      {{torch::ones({2}, torch::kLong)}, {"parameter 0", "Long"}},
      {{torch::empty({2}, torch::Device(torch::kMeta))}, {"parameter 0", "meta"}},
      {{torch::ones({2}), torch::empty({2}, torch::Device(torch::kMeta))}, {"parameter 1", "meta"}},
      {{torch::Tensor()}, {"parameter 0", "undefined"}},
      {{torch::ones({1}).expand({5})}, {"parameter 0", "share memory"}},
      {{torch::ones({2}).set_requires_grad(true) * 2}, {"parameter 0", "leaf"}},
      {{}, {"no parameters", "pass those of the model"}},
  };
  for (const auto& [parameters, words] : cases) {
    expect_parameters_refused(
        parameters, [](const auto& p) { SAdam optimizer(p); }, words);
    expect_parameters_refused(
        parameters, [](const auto& p) { AdamW optimizer(p); }, words);
    expect_parameters_refused(
        parameters, [](const auto& p) { ProxSGD optimizer(p); }, words);
  }
}

TEST(BadParameters, GivenTwiceOrSharingMemory) {
  auto w = torch::ones({6}).set_requires_grad(true);
  expect_refused([&] { SAdam optimizer({w, w}); }, {"parameter 1", "twice", "parameter 0"});
  auto view = w.detach().slice(0, 2, 5).set_requires_grad(true);
  expect_refused([&] { SAdam optimizer({w, view}); }, {"parameter 1", "shares memory", "parameter 0"});
  auto all = torch::ones({6});
  EXPECT_NO_THROW(SAdam({all.slice(0, 0, 3), all.slice(0, 3, 6)}))
      << "two halves of one storage are two parameters";
}

TEST(BadParameters, AreNamedByTheModule) {
  NoisyNet net;
  net->last->to(torch::kHalf);
  expect_refused([&] { SAdam optimizer(*net); }, {"last.weight", "Half"});
}

// Its layer is a member, but was not registered: torch knows nothing of it.
struct Forgetful : torch::nn::Module {
  torch::nn::Linear layer{2, 1};
};

TEST(BadParameters, AModuleWithoutAnySaysWhatWasForgotten) {
  const Forgetful net;
  expect_refused([&] { SAdam optimizer(net); }, {"register_module"});
  expect_refused([&] { AdamW optimizer(net); }, {"register_module"});
  expect_refused([&] { ProxSGD optimizer(net); }, {"register_module"});
}

TEST(BadParameters, ConvertedLaterAreCaughtAtTheStep) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net);
  net->last->to(torch::kHalf);
  expect_refused([&] { optimizer.step([&] { return loss_of(net, batch); }); }, {"last.weight", "Half"});
}

TEST(BadParameters, SparseGradientsAreNamed) {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(10, 4).sparse(true));
  const auto loss = [&] { return embedding->forward(torch::tensor({1, 2})).sum(); };
  AdamW baseline(*embedding);
  expect_refused([&] { baseline.step(loss); }, {"gradient", "weight", "sparse"});
  SAdam optimizer(*embedding);
  expect_refused([&] { optimizer.step(loss); }, {"gradient", "weight", "sparse"});
  EXPECT_FALSE(embedding->weight.grad().defined());
  loss().backward();
  expect_refused([&] { optimizer.probe(loss); }, {"gradient", "weight", "sparse"});
  expect_refused([&] { optimizer.step(1.0); }, {"gradient", "weight", "sparse"});
  expect_refused([&] { baseline.step(); }, {"gradient", "weight", "sparse"});
}

// A closure that fails must leave model, generator and optimizer as they were, and no gradients.
class BadClosure : public ::testing::Test {
 protected:
  template <class Optimizer>
  void expect_untouched(const std::function<torch::Tensor(NoisyNet&, const Batch&)>& bad,
                        const std::vector<std::string>& words) {
    NoisyNet net;
    const Batch batch;
    Optimizer optimizer(*net);
    optimizer.step([&] { return loss_of(net, batch); });
    const auto weights = copies(net->parameters());
    const auto buffers = copies(net->buffers());
    const auto generator = generator_state();
    const auto steps = optimizer.totals().steps;

    expect_refused([&] { optimizer.step([&] { return bad(net, batch); }); }, words);

    expect_same_bits(weights, net->parameters());
    expect_same_bits(buffers, net->buffers());
    for (const auto& parameter : net->parameters()) EXPECT_FALSE(parameter.grad().defined());
    expect_same_bits({generator}, {generator_state()});
    EXPECT_EQ(steps, optimizer.totals().steps);
  }

  void expect_untouched_by_all(const std::function<torch::Tensor(NoisyNet&, const Batch&)>& bad,
                               const std::vector<std::string>& words) {
    expect_untouched<SAdam>(bad, words);
    expect_untouched<AdamW>(bad, words);
    expect_untouched<ProxSGD>(bad, words);
  }
};

TEST_F(BadClosure, Missing) {
  auto w = one();
  SAdam optimizer(w);
  expect_refused([&] { optimizer.step(); }, {"no closure", "probe()"});
  expect_refused([&] { optimizer.probe(nullptr); }, {"no loss function"});
}

TEST_F(BadClosure, ThatCallsItsOwnOptimizer) {
  auto w = one();
  SAdam optimizer(w);
  const auto loss = [&] { return w[0].square().sum(); };
  std::stringstream saved;
  torch::save(optimizer, saved);
  const std::vector<std::function<void()>> calls{[&] { optimizer.step(loss); }, [&] { optimizer.step(0.5); },
                                                 [&] { optimizer.begin(); }, [&] { optimizer.probe(loss); },
                                                 [&] { torch::load(optimizer, saved); }};
  for (const auto& call : calls)
    expect_refused([&] { optimizer.step([&] { return call(), loss(); }); }, {"in the middle of a step"});
  EXPECT_TRUE(torch::equal(w[0], torch::ones({3})));
  EXPECT_EQ(0, optimizer.totals().steps);
  optimizer.step(loss);
}

TEST_F(BadClosure, OfWhichNothingIsTrained) {
  SAdam optimizer({torch::ones({3})});
  const auto w = one();
  expect_refused([&] { optimizer.step([&] { return w[0].sum(); }); }, {"requires a gradient"});
}

TEST_F(BadClosure, ThatReturnsNothing) {
  expect_untouched_by_all(
      [](NoisyNet& net, const Batch& batch) {
        loss_of(net, batch);
        return torch::Tensor();
      },
      {"undefined"});
}

TEST_F(BadClosure, ThatReturnsNoScalar) {
  expect_untouched_by_all([](NoisyNet& net, const Batch& batch) { return net->forward(batch.inputs); },
                          {"scalar", "[16, 3]", "mean"});
}

TEST_F(BadClosure, ThatReturnsAnInteger) {
  expect_untouched_by_all(
      [](NoisyNet& net, const Batch& batch) { return loss_of(net, batch).to(torch::kLong); }, {"Long"});
}

TEST_F(BadClosure, WhoseLossNeedsNoGradients) {
  expect_untouched_by_all(
      [](NoisyNet& net, const Batch& batch) {
        const torch::NoGradGuard guard;
        return loss_of(net, batch);
      },
      {"does not need gradients"});
}

TEST_F(BadClosure, ThatCallsBackward) {
  expect_untouched_by_all(
      [](NoisyNet& net, const Batch& batch) {
        auto loss = loss_of(net, batch);
        loss.backward();
        return loss;
      },
      {"called backward itself"});
}

TEST(BadProtect, RefusesAParameter) {
  auto w = one();
  SAdam optimizer(w);
  expect_refused([&] { optimizer.protect({torch::ones({2}), w[0]}); }, {"protect", "parameter"});
}

TEST(BadProtect, RefusesAnUndefinedTensorAndTakesNone) {
  auto w = one();
  SAdam optimizer(w);
  auto counter = torch::zeros({1});
  expect_refused([&] { optimizer.protect({counter, torch::Tensor()}); }, {"protect", "undefined"});
  optimizer.step([&] {
    counter += 1;
    return w[0].sum();
  });
  EXPECT_EQ(5, counter.item<int>()) << "nothing is protected";
}

TEST(BadSource, OfAnotherShapeIsNamedAndNothingHasChanged) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net, SAdamOptions().source([](const DirectionRequest&) { return torch::ones({4}); }));
  const auto weights = copies(net->parameters());
  const auto buffers = copies(net->buffers());
  const auto generator = generator_state();
  expect_refused([&] { optimizer.step([&] { return loss_of(net, batch); }); },
                 {"source", "parameter 0", "[8, 6]"});
  expect_same_bits(weights, net->parameters());
  expect_same_bits(buffers, net->buffers());
  expect_same_bits({generator}, {generator_state()});
  EXPECT_FALSE(net->parameters()[0].grad().defined());
}

TEST(BadInput, AnOptimizerThatWasMovedFromSaysSo) {
  NoisyNet net;
  const Batch batch;
  SAdam optimizer(*net);
  AdamW adamw(*net);
  const SAdam elsewhere(std::move(optimizer));
  const AdamW adamw_elsewhere(std::move(adamw));
  const auto loss_fn = [&] { return loss_of(net, batch); };
  expect_refused([&] { optimizer.step(loss_fn); }, {"moved"});
  expect_refused([&] { adamw.step(loss_fn); }, {"moved"});
}

TEST(BadInput, ALossOfAnotherModelIsRefusedAndChangesNothing) {
  NoisyNet net;
  NoisyNet other;
  const Batch batch;
  SAdam optimizer(*net);
  const auto before = copies(net->parameters());
  expect_refused([&] { optimizer.step([&] { return loss_of(other, batch); }); },
                 {"no parameter", "gradient"});
  expect_same_bits(before, net->parameters());
  EXPECT_EQ(optimizer.totals().steps, 0);
}

TEST(BadInput, AnOptimizerThatWasMovedFromSaysSoWhateverItIsAsked) {
  auto w = torch::ones({2}).set_requires_grad(true);
  AdamW first({w}, AdamWOptions(1e-2));
  const AdamW second(std::move(first));
  EXPECT_TRUE(says(refusal([&] { first.summary(); }), "moved from"));
  EXPECT_TRUE(says(refusal([&] { first.totals(); }), "moved from"));
  EXPECT_TRUE(says(refusal([&] { first.take_summaries(); }), "moved from"));
  EXPECT_EQ(second.totals().steps, 0);
}

TEST(BadProtect, RefusesAViewOfAParameterAndTakesItsNeighbour) {
  auto flat = torch::ones({6});
  auto w = flat.narrow(0, 0, 4).detach().set_requires_grad(true);
  SAdam optimizer(std::vector<torch::Tensor>{w}, SAdamOptions(1e-2));
  EXPECT_TRUE(says(refusal([&] { optimizer.protect({flat.narrow(0, 3, 2)}); }), "view of one"));
  optimizer.protect({flat.narrow(0, 4, 2)});
}

TEST(BadRequest, APartThatCallsBackwardIsRefusedWhicheverItIs) {
  for (const std::size_t bad : {0, 1}) {
    auto w = torch::ones({2}).set_requires_grad(true);
    AdamW optimizer({w}, AdamWOptions(1e-2));
    StepRequest request;
    for (std::size_t i = 0; i < 2; ++i)
      request.parts.push_back([&, i] {
        auto loss = w.square().sum();
        if (i == bad) loss.backward({}, /*retain_graph=*/true);
        return loss;
      });
    EXPECT_TRUE(says(refusal([&] { optimizer.step(request); }), "called backward itself")) << bad;
    expect_same_bits({torch::ones({2})}, {w});
  }
}

}  // namespace
}  // namespace sadam
