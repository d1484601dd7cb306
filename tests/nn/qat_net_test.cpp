#include "nn/qat_net.h"

#include "nn/layers.h"
#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

torch::Tensor images(std::int64_t n, std::int64_t pixels) { return torch::randn({n, 3, pixels, pixels}); }

/// Fake quantization in tensor operations, with the straight-through gradient.
torch::Tensor plain_quantized(const torch::Tensor& x, int bits) {
  const double half = 1 << (bits - 1);
  const auto values = x.detach();
  const auto s = (bits == 2 ? 1.5 : half - 1) / (values.abs().max() + 1e-5);
  const auto quantized = torch::clamp(torch::round(values * s), -half, half - 1) / s;
  return quantized + (x - values);
}

/// QATNet as the paper describes it, in tensor operations; without dropout. (The format is QATNet's, because
/// it decides the order in which convolutions add. With few levels many sums are equal but for rounding,
/// which then decides which of them is the largest of a window and gets the gradient.)
torch::Tensor plain_forward(QATNet& net, torch::Tensor x) {
  x = x.contiguous(torch::MemoryFormat::ChannelsLast);
  const int bits = net->options().bits;
  const auto parameters = net->named_parameters();
  for (const std::string name : {"conv1", "conv2", "conv3"}) {
    if (!parameters.contains(name + ".weight")) break;
    const auto weight = plain_quantized(parameters[name + ".weight"], bits);
    x = torch::conv2d(plain_quantized(x, bits), weight, parameters[name + ".bias"]);
    x = torch::max_pool2d(torch::relu(x), 2);
  }
  return torch::linear(x.flatten(1), plain_quantized(parameters["fc.weight"], bits), parameters["fc.bias"]);
}

TEST(QATNet, HasTheLayersOfThePaper) {
  struct Case {
    std::int64_t pixels, classes, features, parameters;
  };
  for (const auto& c : {Case{32, 100, 32 * 6 * 6, 448 + 4640 + 115300},
                        Case{64, 200, 64 * 6 * 6, 448 + 4640 + 18496 + 461000},
                        Case{160, 10, 64 * 18 * 18, 448 + 4640 + 18496 + 207370},
                        Case{224, 1000, 64 * 26 * 26, 448 + 4640 + 18496 + 43265000}}) {
    SCOPED_TRACE(c.pixels);
    QATNet net(QATNetOptions{.pixels = c.pixels, .classes = c.classes, .bits = 4});
    std::int64_t count = 0;
    for (const auto& parameter : net->parameters()) count += parameter.numel();
    EXPECT_EQ(c.parameters, count);
    EXPECT_EQ(net->named_parameters()["fc.weight"].sizes(), torch::IntArrayRef({c.classes, c.features}));
    EXPECT_EQ(net->forward(images(2, c.pixels)).sizes(), torch::IntArrayRef({2, c.classes}));
  }
}

TEST(QATNet, NamesItsParameters) {
  const QATNet net(QATNetOptions{.pixels = 64});
  const std::vector<std::string> expected = {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                             "conv3.weight", "conv3.bias", "fc.weight",    "fc.bias"};
  EXPECT_EQ(expected, net->named_parameters().keys());
}

TEST(QATNet, ForwardAndGradientsAreThoseOfThePlainNetwork) {
  for (const std::int64_t pixels : {32, 64}) {
    for (const int bits : {2, 4, 8}) {
      SCOPED_TRACE(::testing::Message() << pixels << " pixels, " << bits << " bits");
      QATNet net(QATNetOptions{.pixels = pixels, .classes = 10, .bits = bits});
      net->to(torch::kDouble);  // in float a sum on the edge between two levels may fall to either side
      net->eval();
      const auto x = images(3, pixels).to(torch::kDouble);
      const auto weights = torch::randn({3, 10}, torch::kDouble);
      const auto gradients_of = [&](const torch::Tensor& logits) {
        net->zero_grad();
        (logits * weights).sum().backward();
        std::vector<torch::Tensor> gradients;
        for (const auto& parameter : net->parameters()) gradients.push_back(parameter.grad().clone());
        return gradients;
      };
      const auto expected = plain_forward(net, x);
      const auto actual = net->forward(x);
      EXPECT_TRUE(torch::allclose(expected, actual, 1e-10, 1e-12));
      const auto expected_gradients = gradients_of(expected);
      const auto gradients = gradients_of(actual);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        EXPECT_TRUE(torch::allclose(expected_gradients[i], gradients[i], 1e-9, 1e-10)) << i;
      }
    }
  }
}

TEST(QATNet, FloatForwardIsCloseToThePlainNetwork) {
  QATNet net(QATNetOptions{.bits = 8});
  net->eval();
  const auto x = images(8, 32);
  EXPECT_TRUE(torch::allclose(plain_forward(net, x), net->forward(x), 1e-2, 1e-2));
}

TEST(QATNet, GivesTheGradientOfItsImages) {
  QATNet net(QATNetOptions{.classes = 10, .bits = 4});
  net->to(torch::kDouble);
  net->eval();
  const auto x = images(2, 32).to(torch::kDouble).requires_grad_(true);
  plain_forward(net, x).sum().backward();
  const auto expected = x.grad().clone();
  x.mutable_grad().zero_();
  net->forward(x).sum().backward();
  EXPECT_TRUE(torch::allclose(expected, x.grad(), 1e-9, 1e-12));
}

TEST(QATNet, QuantizedImagesGiveTheSameBits) {
  QATNet net;
  const auto x = images(4, 32);
  const auto prepared = net->prepare(x);
  net->eval();
  const auto expected = net->forward(x);
  for (int i = 0; i < 2; ++i) expect_same_bits({expected}, {net->logits(prepared)});
}

TEST(QATNet, DropsAQuarterInTrainingOnly) {
  QATNet net(QATNetOptions{.classes = 10});
  const auto x = images(4, 32);
  EXPECT_FALSE(torch::equal(net->forward(x), net->forward(x)));
  net->eval();
  EXPECT_TRUE(torch::equal(net->forward(x), net->forward(x)));
  QATNet without(QATNetOptions{.classes = 10, .dropout = 0});
  EXPECT_TRUE(torch::equal(without->forward(x), without->forward(x)));
}

TEST(QATNet, RefusesBadInputWithASentence) {
  const auto make = [](QATNetOptions options) { return [=] { QATNet net(options); }; };
  expect_refused(make({.pixels = 28}), {"28", "32, 64, 160 or 224"});
  expect_refused(make({.classes = 0}), {"0 classes", "at least 1"});
  expect_refused(make({.bits = 1}), {"1-bit", "2 to 8 bits"});
  expect_refused(make({.dropout = 1}), {"dropout", "below 1"});
}

TEST(QATNet, LearnsABatchWithSAdam) {
  QATNet net(QATNetOptions{.classes = 10});
  const auto x = images(32, 32);
  const auto targets = torch::randint(0, 10, {32}, torch::kLong);
  const auto prepared = net->prepare(x);
  sadam::SAdam optimizer(*net, sadam::SAdamOptions(1e-3).probes(2));
  double first = 0;
  double last = 0;
  for (int step = 0; step < 15; ++step) {
    const auto loss =
        optimizer.step([&] { return torch::nn::functional::cross_entropy(net->logits(prepared), targets); });
    (step == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.8 * first);
}

TEST(QATNet, AllEvaluationsOfASharedStepSeeTheSameMasks) {
  // Only the last bias moves, so that without it a logit depends on the mask alone.
  QATNet net(QATNetOptions{.classes = 1, .bits = 8});
  auto parameters = net->named_parameters();
  for (auto& parameter : parameters) parameter.value().set_requires_grad(false);
  parameters["fc.bias"].set_requires_grad(true);
  const auto x = images(4, 32);
  for (const auto noise : {ProbeNoise::shared, ProbeNoise::fresh}) {
    std::vector<torch::Tensor> sums;
    sadam::SAdam optimizer(*net, sadam::SAdamOptions(1e-3).probes(3).noise(noise));
    const auto step = [&] {
      optimizer.step([&] {
        const auto logits = net->forward(x);
        sums.push_back((logits - parameters["fc.bias"]).detach());
        return logits.sum();
      });
    };
    step();  // the first one looks at more
    sums.clear();
    step();
    ASSERT_EQ(4U, sums.size());
    for (std::size_t i = 1; i < sums.size(); ++i) {
      EXPECT_EQ(noise == ProbeNoise::shared, torch::allclose(sums[0], sums[i], 1e-5, 1e-6)) << i;
    }
  }
}

}  // namespace
}  // namespace sadam::nn
