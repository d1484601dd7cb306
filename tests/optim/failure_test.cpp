// Whatever is thrown during a step: all is as before it, and the next step is that of a twin that never
// failed.
#include <stdexcept>

#include "optim/state.h"
#include "support/models.h"

namespace sadam {
namespace {

using namespace sadam::testing;

template <class Optimizer>
struct Life {
  explicit Life(const std::function<Optimizer(NoisyNetImpl&)>& make)
      : net((torch::manual_seed(2), NoisyNet())), optimizer(make(*net)) {}

  // Throws at that evaluation of the step, counted from 1. Returns how many there were.
  int step(int throws_at = 0, bool an_int = false) {
    int evaluations = 0;
    optimizer.step([&] {
      auto loss = loss_of(net, batch);
      if (++evaluations == throws_at && an_int) throw 7;
      if (evaluations == throws_at) throw std::runtime_error("the disk is full");
      return loss;
    });
    return evaluations;
  }

  std::vector<torch::Tensor> everything() {
    auto all = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) all.push_back(buffer);
    for (const auto& parameter : net->parameters()) {
      std::ostringstream state;
      const auto* const kept =
          optim::state_if_any<torch::optim::OptimizerParamState>(optimizer.state(), parameter);
      if (kept == nullptr) continue;
      torch::serialize::OutputArchive archive;
      kept->serialize(archive);
      archive.save_to(state);
      const auto bytes = state.str();
      all.push_back(torch::tensor(std::vector<std::uint8_t>(bytes.begin(), bytes.end())));
    }
    all.push_back(generator_state());
    return all;
  }

  NoisyNet net;
  Batch batch;
  Optimizer optimizer;
};

template <class Optimizer>
void expect_a_way_back(const std::function<Optimizer(NoisyNetImpl&)>& make, int evaluations) {
  for (const bool an_int : {false, true})
    for (int at = 1; at <= evaluations; ++at) {
      Life<Optimizer> twin(make);
      twin.step(), twin.step();
      ASSERT_EQ(evaluations, twin.step());
      const auto expected = twin.everything();

      Life<Optimizer> life(make);
      life.step(), life.step();
      const auto before = life.everything();
      if (an_int)
        EXPECT_THROW(life.step(at, true), int);
      else
        EXPECT_THROW(life.step(at), std::runtime_error);
      expect_same_bits(before, life.everything());
      for (const auto& parameter : life.net->parameters()) EXPECT_FALSE(parameter.grad().defined());
      EXPECT_EQ(2, life.optimizer.totals().steps);
      life.step();
      expect_same_bits(expected, life.everything());
      EXPECT_EQ(twin.optimizer.summary().lgi, life.optimizer.summary().lgi);
    }
}

TEST(AFailedStep, OfSAdamLeavesAllAsBefore) {
  expect_a_way_back<SAdam>([](auto& net) { return SAdam(net, SAdamOptions(0.01)); }, 3);
  expect_a_way_back<SAdam>([](auto& net) { return SAdam(net, SAdamOptions::reference(0.01)); }, 3);
}

TEST(AFailedStep, OfTheBaselinesLeavesAllAsBefore) {
  expect_a_way_back<AdamW>([](auto& net) { return AdamW(net, AdamWOptions(0.01)); }, 1);
  expect_a_way_back<ProxSGD>([](auto& net) { return ProxSGD(net, ProxSGDOptions(0.01)); }, 1);
}

TEST(AFailedStep, MayBeTheFirst) {
  const auto make = [](auto& net) { return SAdam(net, SAdamOptions(0.01)); };
  Life<SAdam> twin(make);
  const int evaluations = twin.step();
  const auto expected = twin.everything();
  for (int at = 1; at <= evaluations; ++at) {
    Life<SAdam> life(make);
    const auto weights = copies(life.net->parameters());
    const auto buffers = copies(life.net->buffers());
    const auto generator = generator_state();
    EXPECT_THROW(life.step(at), std::runtime_error);
    expect_same_bits(weights, life.net->parameters());
    expect_same_bits(buffers, life.net->buffers());
    expect_same_bits({generator}, {generator_state()});
    life.step();
    expect_same_bits(expected, life.everything());
  }
}

// The count of updates that a group's state has is that of its weights.
TEST(AFailedStep, WhereGroupsTakeTurnsLeavesTheUpdatesOfThoseBefore) {
  auto a = torch::ones({5}).set_requires_grad(true);
  auto b = torch::ones({5}).set_requires_grad(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a});
  groups.emplace_back(std::vector<torch::Tensor>{b});
  SAdam optimizer(groups, SAdamOptions::reference(0.1));
  bool throws = true;  // where b is probed
  const auto loss = [&] {
    if (throws && !torch::equal(b, torch::ones({5}))) throw std::runtime_error("no");
    return a.abs().sum() + b.abs().sum();
  };
  EXPECT_THROW(optimizer.step(loss), std::runtime_error);
  EXPECT_FALSE(torch::equal(a, torch::ones({5})));
  expect_same_bits({torch::ones({5})}, {b});
  const auto updates = [&](const torch::Tensor& w) {
    return optim::state_if_any<AdamWParamState>(optimizer.state(), w)->step();
  };
  EXPECT_EQ(1, updates(a));
  EXPECT_EQ(0, updates(b));
  EXPECT_EQ(0, optimizer.totals().steps);
  throws = false;
  optimizer.step(loss);
  EXPECT_EQ(2, updates(a));
  EXPECT_EQ(1, updates(b));
  EXPECT_EQ(1, optimizer.totals().steps);
}

}  // namespace
}  // namespace sadam
