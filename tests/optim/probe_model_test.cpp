// What probe_model says where the truth is known.
#include <sadam/probe_model.h>

#include <cmath>
#include <sstream>

#include "support/models.h"
#include "support/refusal.h"

namespace sadam {
namespace {

using namespace sadam::testing;

/// The signature of a function of one vector, in double.
Signature signature_of(const std::function<torch::Tensor(const torch::Tensor&)>& f, const torch::Tensor& w) {
  auto parameter = w.clone().set_requires_grad(true);
  return probe_model({{"w", parameter}}, {}, [&] { return f(parameter); }).signature;
}

TEST(ProbeModel, SeesTheSquareOfTheRadiusOnASmoothLoss) {
  const auto w = torch::linspace(-1, 1, 6, torch::kDouble);
  const auto found = signature_of([](const auto& x) { return (x * x).sum() + x.exp().sum(); }, w);
  EXPECT_EQ(found.smoothness, Smoothness::smooth);
  EXPECT_NEAR(found.power, 2, 0.05);
  EXPECT_LT(found.error, 0.1);
}

TEST(ProbeModel, SeesTheRadiusItselfAtAKink) {
  const auto found =
      signature_of([](const auto& x) { return x.abs().sum(); }, torch::zeros({6}, torch::kDouble));
  EXPECT_EQ(found.smoothness, Smoothness::kinks);
  EXPECT_NEAR(found.power, 1, 0.01);
}

// Rounded down to whole numbers, and standing on one: half of the coordinates jump by 1, however near.
TEST(ProbeModel, SeesNoFallAtAJump) {
  const auto found = signature_of([](const auto& x) { return (x.floor() + 0 * x).sum(); },
                                  torch::zeros({6}, torch::kDouble));
  EXPECT_EQ(found.smoothness, Smoothness::jumps);
  EXPECT_NEAR(found.power, 0, 0.1);
}

TEST(ProbeModel, SeesNothingOfALinearLoss) {
  const auto found =
      signature_of([](const auto& x) { return (3 * x).sum(); }, torch::ones({6}, torch::kDouble));
  EXPECT_EQ(found.smoothness, Smoothness::unseen);
}

TEST(ProbeModel, SeesNothingWhereNothingHappens) {
  auto w = torch::ones({6}, torch::kDouble).set_requires_grad(true);
  const auto constant = probe_model({{"w", w}}, {}, [&] { return (0 * w).sum(); });
  EXPECT_EQ(constant.signature.smoothness, Smoothness::unseen);
  EXPECT_EQ(constant.smallest_radius, 0);
  EXPECT_NE(constant.suggestion.reason.find("The gradient is 0"), std::string::npos);
}

TEST(ProbeModel, TakesTiedWeightsOnce) {
  auto w = torch::ones({6}, torch::kDouble).set_requires_grad(true);
  const auto found = probe_model({{"a.weight", w}, {"b.weight", w}}, {}, [&] { return (w * w).sum(); });
  EXPECT_EQ(found.parameters, 6);
  EXPECT_EQ(found.layers.size(), 1U);
}

// A float32 loss of 3000 has steps of 2.4e-4, however exactly the weights are known.
TEST(ProbeModel, KnowsThatTheLossItselfIsRounded) {
  auto w = torch::ones({6}, torch::kDouble).set_requires_grad(true);
  const auto found = probe_model({{"w", w}}, {}, [&] { return (500 * w.sum()).to(torch::kFloat); });
  EXPECT_GE(found.noise, 3000 * 1e-7);
}

TEST(ProbeModel, TellsTheLayersApart) {
  auto smooth = torch::ones({5}, torch::kDouble).set_requires_grad(true);
  auto kinked = torch::zeros({5}, torch::kDouble).set_requires_grad(true);
  const auto found = probe_model({{"a.weight", smooth}, {"b.weight", kinked}}, {},
                                 [&] { return (smooth * smooth).sum() + kinked.abs().sum(); });
  ASSERT_EQ(found.layers.size(), 2U);
  EXPECT_EQ(found.layers[0].name, "a");
  EXPECT_EQ(found.layers[0].signature.smoothness, Smoothness::smooth);
  EXPECT_EQ(found.layers[1].name, "b");
  EXPECT_EQ(found.layers[1].signature.smoothness, Smoothness::kinks);
  EXPECT_EQ(found.layers[1].parameters, 5);
}

// Var(D)/mean(D²) is about 1 − 1/k on a linear loss, where the residual is 0.
TEST(ProbeModel, ShowsWhatEachEstimatorSees) {
  auto w = torch::ones({50}, torch::kDouble).set_requires_grad(true);
  const auto found = probe_model({{"w", w}}, {}, [&] { return w.sum(); });
  ASSERT_EQ(found.estimators.size(), 10U);  // three directions with three statistics, and the step
  for (const auto& each : found.estimators) {
    if (each.statistic == Statistic::residual)
      EXPECT_NEAR(each.lgi, 0, 1e-9);
    else
      EXPECT_GT(each.lgi, 0.7);
  }
  EXPECT_FALSE(found.suggestion.brake) << found.suggestion.reason;
}

// In float32 the smallest radii drown in rounding; the floor lies between, and the report says so.
TEST(ProbeModel, FindsTheRadiusAboveTheNoise) {
  auto w = torch::full({1000}, 10, torch::kFloat).set_requires_grad(true);
  ProbeModelOptions options;
  options.radii = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};
  const auto found = probe_model(
      {{"w", w}}, {}, [&] { return (w * w).mean(); }, options);
  EXPECT_GT(found.noise, 0);
  EXPECT_GT(found.smallest_radius, 1e-6);
  EXPECT_LT(found.smallest_radius, 1);
  std::ostringstream report;
  report << found;
  EXPECT_NE(report.str().find("rounding"), std::string::npos);
}

TEST(ProbeModel, LeavesEverythingAsItWas) {
  torch::manual_seed(5);
  NoisyNet net;  // dropout and batch norm
  net->train();
  const Batch batch;
  const auto parameters = copies(net->parameters());
  const auto buffers = copies(net->buffers());
  const auto generator = generator_state();
  const auto found = probe_model(*net, [&] { return loss_of(net, batch); });
  expect_same_bits(parameters, net->parameters());
  expect_same_bits(buffers, net->buffers());
  EXPECT_TRUE(torch::equal(generator, generator_state()));
  for (const auto& parameter : net->parameters()) EXPECT_FALSE(parameter.grad().defined());
  EXPECT_GT(found.layers.size(), 1U);
  // Again the same, to the bit.
  const auto again = probe_model(*net, [&] { return loss_of(net, batch); });
  EXPECT_EQ(found.loss, again.loss);
  EXPECT_EQ(found.radii.back().residual, again.radii.back().residual);
}

TEST(ProbeModel, ItsReportFitsEightyColumns) {
  NoisyNet net;
  const Batch batch;
  std::ostringstream report;
  report << probe_model(*net, [&] { return loss_of(net, batch); });
  std::istringstream lines(report.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 82U) << line;  // ± has two bytes
}

TEST(ProbeModel, RefusesWhatItCannotLookAt) {
  auto w = torch::ones({3}).set_requires_grad(true);
  const auto sum = [&] { return w.sum(); };
  const auto frozen = torch::ones({3});
  expect_refused([&] { probe_model({{"w", frozen}}, {}, sum); }, {"no trainable parameters"});
  expect_refused([&] { probe_model({{"w", w}}, {}, [&] { return w * 2; }); }, {"scalar"});
  expect_refused([&] { probe_model({{"w", w}}, {}, [&] { return frozen.sum(); }); }, {"does not depend"});
  expect_refused([&] { probe_model({{"w", w}}, {}, [&] { return w.sum() / 0; }); }, {"not finite"});
  ProbeModelOptions options;
  options.radii = {0, 1};
  expect_refused([&] { probe_model({{"w", w}}, {}, sum, options); }, {"above 0"});
  options.radii = {1, 0.1};
  expect_refused([&] { probe_model({{"w", w}}, {}, sum, options); }, {"ascending"});
}

}  // namespace
}  // namespace sadam
