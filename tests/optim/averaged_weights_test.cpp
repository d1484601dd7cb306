// Averages of the weights, against those made plainly in float64.
#include <sadam/averaged_weights.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

// A net with buffers of every kind, trained a little between updates.
struct Trained {
  explicit Trained(double decay, torch::Dtype type = torch::kDouble)
      : net((torch::manual_seed(2), NoisyNet())), average((net->to(type), net), decay) {
    torch::manual_seed(3);
    inputs = torch::randn({16, 6}, type);
    targets = torch::randint(0, 3, {16}, torch::kLong);
  }
  void train() {
    AdamW optimizer(*net, AdamWOptions(0.05));
    optimizer.step([&] { return torch::nn::functional::cross_entropy(net->forward(inputs), targets); });
  }
  std::vector<torch::Tensor> tensors() const {
    auto all = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) all.push_back(buffer);
    return all;
  }
  std::vector<torch::Tensor> averaged() const {
    const auto use = average.use();
    return tensors();
  }
  NoisyNet net;
  AveragedWeights average;
  torch::Tensor inputs;
  torch::Tensor targets;
};

void expect_close(const std::vector<torch::Tensor>& expected, const std::vector<torch::Tensor>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].scalar_type(), found[i].scalar_type());
    EXPECT_LT((expected[i] - found[i]).abs().max().item<double>(), 1e-12) << i;
  }
}

TEST(AveragedWeights, BelowOneAreAnExponentialMovingAverage) {
  Trained trained(0.8);
  std::vector<torch::Tensor> expected;
  for (int t = 0; t < 60; ++t) {
    trained.train();
    trained.average.update();
    const auto now = trained.tensors();
    const double d = std::min(0.8, (1.0 + t) / (10.0 + t));
    if (t == 0) {
      expected = now;
    } else {
      for (std::size_t i = 0; i < now.size(); ++i)
        expected[i] = now[i].is_floating_point() ? d * expected[i] + (1 - d) * now[i] : now[i];
    }
    expect_close(expected, trained.averaged());
  }
  EXPECT_EQ(60, trained.average.updates());
}

TEST(AveragedWeights, AtOneAreTheEqualAverage) {
  Trained trained(1);
  std::vector<torch::Tensor> sums;
  for (int t = 1; t <= 30; ++t) {
    trained.train();
    trained.average.update();
    const auto now = trained.tensors();
    if (sums.empty())
      sums = copies(now);
    else
      for (std::size_t i = 0; i < now.size(); ++i)
        sums[i] = now[i].is_floating_point() ? sums[i] + now[i] : now[i];
    std::vector<torch::Tensor> expected;
    for (const auto& sum : sums) expected.push_back(sum.is_floating_point() ? sum / t : sum);
    expect_close(expected, trained.averaged());
  }
}

TEST(AveragedWeights, OfWeightsThatStayAreThoseWeights) {
  for (const double decay : {0.999, 1.0}) {
    Trained trained(decay, torch::kFloat);
    for (int t = 0; t < 50; ++t) trained.average.update();
    expect_same_bits(trained.tensors(), trained.averaged());
  }
}

TEST(AveragedWeights, HaveTheMasksOfTheModule) {
  struct MaskedImpl : torch::nn::Module {
    torch::Tensor weight = register_parameter("weight", torch::zeros({2}));
    torch::Tensor mask = register_buffer("mask", torch::tensor({0.0F, -INFINITY}));
  };
  MaskedImpl net;
  AveragedWeights average(net, 0.5);
  for (int t = 0; t < 3; ++t) {
    average.update();
    const torch::NoGradGuard no_grad;
    net.weight += 1;
  }
  const auto use = average.use();
  EXPECT_GT(net.weight[0].item<float>(), 0);
  EXPECT_EQ(net.mask[0].item<float>(), 0);
  EXPECT_EQ(net.mask[1].item<float>(), -INFINITY);
}

TEST(AveragedWeights, ComeAndGoBitForBit) {
  Trained trained(0.9, torch::kFloat);
  for (int t = 0; t < 3; ++t) trained.train(), trained.average.update();
  const auto own = trained.tensors();
  const auto* const address = trained.net->first->weight.data_ptr();
  const auto average = trained.averaged();
  EXPECT_FALSE(torch::equal(own[0], average[0]));
  try {
    const auto use = trained.average.use();
    EXPECT_EQ(address, trained.net->first->weight.data_ptr()) << "whoever keeps a view would miss it";
    expect_same_bits(average, trained.tensors());
    trained.train();  // spoils what is there
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
  }
  expect_same_bits(own, trained.tensors());
  expect_same_bits(average, trained.averaged());
}

TEST(AveragedWeights, MayBeKept) {
  Trained trained(0.9);
  for (int t = 0; t < 3; ++t) trained.train(), trained.average.update();
  const auto average = trained.averaged();
  trained.average.apply();
  expect_same_bits(average, trained.tensors());
}

TEST(AveragedWeights, SurviveAFile) {
  Trained whole(0.9);
  for (int t = 0; t < 5; ++t) whole.train(), whole.average.update();
  std::stringstream weights;
  std::stringstream file;
  torch::save(whole.net, weights);
  torch::save(whole.average, file);

  Trained resumed(0.5);
  resumed.train();
  resumed.average.update();
  torch::load(resumed.net, weights);
  torch::load(resumed.average, file);
  EXPECT_EQ(5, resumed.average.updates());
  EXPECT_EQ(0.9, resumed.average.decay());
  expect_same_bits(whole.averaged(), resumed.averaged());
  {
    const torch::NoGradGuard no_grad;
    for (auto* const net : {&whole.net, &resumed.net})
      for (auto& parameter : (*net)->parameters()) parameter.add_(0.3);
  }
  whole.average.update();
  resumed.average.update();
  expect_same_bits(whole.averaged(), resumed.averaged());

  std::stringstream before_any;
  Trained fresh(0.9);
  torch::save(fresh.average, before_any);
  torch::load(resumed.average, before_any);
  EXPECT_EQ(0, resumed.average.updates());
}

TEST(AveragedWeights, RefuseWhatCannotBe) {
  torch::nn::Linear net(3, 2);
  for (const double decay : {0.0, -0.1, 1.1, std::nan("")})
    expect_refused([&] { AveragedWeights(net, decay); }, {"decay", "at most 1"});
  expect_refused([] { AveragedWeights(torch::nn::ReLU(), 0.9); }, {"no parameters"});
  AveragedWeights average(net);
  expect_refused([&] { static_cast<void>(average.use()); }, {"no average yet", "update()"});
  average.update();
  std::stringstream file;
  torch::save(average, file);
  torch::nn::Linear other(3, 5);
  AveragedWeights of_other(other);
  expect_refused([&] { torch::load(of_other, file); }, {"another shape"});
  EXPECT_EQ(0, of_other.updates());
}

}  // namespace
}  // namespace sadam
