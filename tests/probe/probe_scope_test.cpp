#include "probe/probe_scope.h"

#include <ATen/autocast_mode.h>

#include "probe/perturbation.h"
#include "support/models.h"

namespace sadam::probe {
namespace {

using namespace sadam::testing;

struct ProbeScopeTest : ::testing::Test {
  ProbeScopeTest() {
    for (const auto& parameter : net->parameters()) {
      parameters.push_back({parameter, 0, static_cast<std::int64_t>(parameters.size()), first});
      first += static_cast<std::uint64_t>(parameter.numel());
    }
    loss_of(net, batch);  // so that the running statistics are not at their start
  }

  // Everything a scope must not change.
  std::vector<torch::Tensor> everything() {
    auto all = copies(net->parameters());
    for (const auto& buffer : copies(net->buffers())) all.push_back(buffer);
    all.push_back(generator_state());
    return all;
  }

  NoisyNet net;
  Batch batch;
  std::uint64_t first = 0;
  std::vector<Parameter> parameters;
  Snapshot snapshot;
};

TEST_F(ProbeScopeTest, RestoresWeightsBuffersAndGenerator) {
  const ForwardState before(net->buffers());
  loss_of(net, batch);  // the base evaluation
  const auto expected = everything();
  {
    const ProbeScope scope(snapshot, parameters, &before, net->buffers());
    Perturbation perturbation(snapshot, {});
    for (int probe = 0; probe < 3; ++probe) {
      perturbation.apply(probe);
      scope.evaluate([&] { return loss_of(net, batch); });
    }
    EXPECT_FALSE(torch::equal(expected[0], net->parameters()[0]));  // it did move
  }
  expect_same_bits(expected, everything());
}

TEST_F(ProbeScopeTest, RestoresWhenTheClosureThrowsInTheSecondProbe) {
  const ForwardState before(net->buffers());
  loss_of(net, batch);
  const auto expected = everything();
  int evaluations = 0;
  const auto probing = [&] {
    const ProbeScope scope(snapshot, parameters, &before, net->buffers());
    Perturbation perturbation(snapshot, {});
    for (int probe = 0; probe < 3; ++probe) {
      perturbation.apply(probe);
      scope.evaluate([&] {
        auto loss = loss_of(net, batch);
        if (++evaluations == 2) throw std::runtime_error("out of patience");
        return loss;
      });
    }
  };
  EXPECT_THROW(probing(), std::runtime_error);
  EXPECT_EQ(2, evaluations);
  expect_same_bits(expected, everything());
}

TEST_F(ProbeScopeTest, RestoresAwkwardWeightsBitForBit) {
  auto odd = torch::tensor({std::nan(""), HUGE_VAL, -0.0, 1e-310, 5e-324}, torch::kDouble);
  auto gaps = torch::randn({5, 6}).slice(1, 0, 6, 2);
  auto last = torch::randn({2, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast);
  const std::vector<torch::Tensor> tensors{odd, gaps, last};
  const auto expected = copies(tensors);
  {
    const ProbeScope scope(snapshot, {{odd, 0, 0, 0}, {gaps, 0, 1, 5}, {last, 0, 2, 20}}, nullptr, {});
    Perturbation(snapshot, {}).apply(0);
    EXPECT_FALSE(torch::equal(expected[1], gaps));
    EXPECT_FALSE(torch::equal(expected[2], last));
  }
  expect_same_bits(expected, tensors);
}

TEST_F(ProbeScopeTest, LeavesALiveGraphValid) {
  auto loss = loss_of(net, batch);
  const ForwardState before(net->buffers());
  {
    const ProbeScope scope(snapshot, parameters, &before, net->buffers());
    Perturbation(snapshot, {}).apply(0);
  }
  EXPECT_NO_THROW(loss.backward());
}

TEST_F(ProbeScopeTest, SharedNoiseReplaysTheMasksAndFreshDoesNot) {
  for (bool shared : {true, false}) {
    net->masks.clear();
    const ForwardState before(net->buffers());
    loss_of(net, batch);
    {
      const ProbeScope scope(snapshot, parameters, shared ? &before : nullptr, net->buffers());
      scope.evaluate([&] { return loss_of(net, batch); });
      scope.evaluate([&] { return loss_of(net, batch); });
    }
    ASSERT_EQ(3u, net->masks.size());
    EXPECT_EQ(shared, torch::equal(net->masks[0], net->masks[1]));
    EXPECT_EQ(shared, torch::equal(net->masks[1], net->masks[2]));
  }
}

TEST_F(ProbeScopeTest, AFunctionThatReadsItsOwnBuffersIsTheSameFunctionAtEveryEvaluation) {
  auto counter = torch::zeros({1});
  const auto counting = [&] {
    counter += 1;
    return counter.sum();
  };
  const ForwardState before({counter});
  const double base = counting().item<double>();
  {
    const ProbeScope scope(snapshot, parameters, &before, {counter});
    EXPECT_EQ(base, scope.evaluate(counting).value);
    EXPECT_EQ(base, scope.evaluate(counting).value);
  }
  EXPECT_EQ(1, counter.item<double>());
}

TEST_F(ProbeScopeTest, PutsBackABufferOfAnyKindAndShape) {
  auto sparse = torch::eye(3).to_sparse();
  auto shrinking = torch::arange(1000);
  auto transposed = torch::randn({4, 5}).t();
  const std::vector<torch::Tensor> buffers{sparse, shrinking, transposed};
  const std::vector<torch::Tensor> expected{sparse.to_dense(), shrinking.clone(), transposed.clone()};
  const ForwardState before(buffers);
  const auto failing = [&] {
    const ProbeScope scope(snapshot, parameters, &before, buffers);
    scope.evaluate([&] {
      shrinking.set_data(torch::zeros({2}, torch::kLong));
      transposed.zero_();
      return torch::ones({});
    });
    throw std::runtime_error("after the evaluation");
  };
  EXPECT_THROW(failing(), std::runtime_error);
  expect_same_bits(expected, {sparse.to_dense(), shrinking, transposed});
}

// What can be copied back without changing its kind or shape, and the rest.
TEST(ForwardState, KnowsWhichBuffersHaveBecomeOfAnotherKind) {
  auto sparse = torch::eye(3).to_sparse();
  auto shape = torch::arange(10.0);
  auto type = torch::arange(10);
  auto same = torch::ones({2, 3});
  const ForwardState before({sparse, shape, type, same});
  EXPECT_EQ(before.alike().size(), 3u);  // what is sparse has no memory of its own to copy to
  EXPECT_TRUE(before.has_unlike());
  shape.set_data(torch::zeros({9}));
  type.set_data(torch::zeros({10}, torch::kInt));
  same.set_data(torch::zeros({2, 3}));
  ASSERT_EQ(before.alike().size(), 1u);
  EXPECT_EQ(before.alike()[0].first.data_ptr(), same.data_ptr());
  before.restore_unlike();
  EXPECT_TRUE(torch::equal(shape, torch::arange(10.0)));
  EXPECT_TRUE(torch::equal(type, torch::arange(10)));
  EXPECT_TRUE(torch::equal(same, torch::zeros({2, 3}))) << "left alone";
  EXPECT_EQ(before.alike().size(), 3u);
}

TEST_F(ProbeScopeTest, SwitchesReducedPrecisionOffAndBackOn) {
  using Precision = at::Float32MatmulPrecision;
  at::globalContext().setFloat32MatmulPrecision(std::string("medium"));
  {
    const ProbeScope scope(snapshot, parameters, nullptr, {});
    EXPECT_TRUE(scope.training_is_reduced());
    EXPECT_EQ(Precision::HIGHEST, at::globalContext().float32MatmulPrecision());
  }
  EXPECT_EQ(Precision::MEDIUM, at::globalContext().float32MatmulPrecision());
  at::globalContext().setFloat32MatmulPrecision(std::string("highest"));
  const ProbeScope scope(snapshot, parameters, nullptr, {});
  EXPECT_FALSE(scope.training_is_reduced());
}

}  // namespace
}  // namespace sadam::probe
