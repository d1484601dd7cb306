#include "step/probe_scope.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <stdexcept>

#include "support/models.h"
#include "support/plain_problem.h"

namespace sadam::step {
namespace {

using namespace sadam::testing;

// Both ways to show a loss other weights: copies of them, and the weights themselves, moved.
class ProbeScopeTest : public ::testing::TestWithParam<bool> {
 protected:
  ProbeScopeTest() {
    loss_of(net_, batch_);  // so that the running statistics are not at their start
  }

  // As the engine does before its probes.
  void evaluate_base(ForwardState& before) {
    before.draws.begin_base();
    loss_of(net_, batch_);
    before.draws.end_base();
    before.draws.rest_here();
  }

  ProbeScope scope_of(const Items& items, const ForwardState* replay) {
    return {*backend_, lane_, GetParam(), items, {0, 1}, replay};
  }

  void move(const Items& items, const ProbeScope& scope, std::int64_t probe = 0) {
    const Numbers numbers(at::kCPU, {1, 1, false}, {}, {});
    const Passes passes(*backend_, numbers, items);
    passes.move({}, passes.direction({}, probe, 0, {0, 1}), scope.target());
  }

  // Everything that a probe must not change.
  std::vector<torch::Tensor> everything() {
    auto all = copies(net_->parameters());
    for (const auto& buffer : copies(net_->buffers())) all.push_back(buffer);
    all.push_back(generator_state());
    return all;
  }

  std::shared_ptr<Backend> backend_ = make_backend(at::kCPU);
  NoisyNet net_;
  Batch batch_;
  Items items_ = items_of({net_->parameters()});
  Lane lane_;
};
INSTANTIATE_TEST_SUITE_P(Weights, ProbeScopeTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "MovedInPlace" : "Copied"; });

TEST_P(ProbeScopeTest, LeavesWeightsBuffersAndGeneratorAsTheyWere) {
  ForwardState before(net_->buffers(), *backend_);
  evaluate_base(before);
  const auto expected = everything();
  for (int probe = 0; probe < 3; ++probe) {
    const auto scope = scope_of(items_, &before);
    move(items_, scope, probe);
    scope.evaluate({[&] {
      EXPECT_FALSE(torch::equal(expected[0], net_->parameters()[0])) << "it did move";
      return loss_of(net_, batch_);
    }});
  }
  before.draws.after_probes();
  expect_same_bits(expected, everything());
}

TEST_P(ProbeScopeTest, LeavesThemAsTheyWereWhenTheLossThrowsInTheSecondProbe) {
  ForwardState before(net_->buffers(), *backend_);
  evaluate_base(before);
  const auto expected = everything();
  int evaluations = 0;
  const auto probing = [&] {
    for (int probe = 0; probe < 3; ++probe) {
      const auto scope = scope_of(items_, &before);
      move(items_, scope, probe);
      scope.evaluate({[&] {
        auto loss = loss_of(net_, batch_);
        if (++evaluations == 2) throw std::runtime_error("out of patience");
        return loss;
      }});
    }
  };
  EXPECT_THROW(probing(), std::runtime_error);
  EXPECT_EQ(2, evaluations);
  before.draws.after_probes();
  expect_same_bits(expected, everything());
}

TEST_P(ProbeScopeTest, LeavesAwkwardWeightsAsTheyWereBitForBit) {
  auto odd = torch::tensor({std::nan(""), HUGE_VAL, -0.0, 1e-310, 5e-324}, torch::kDouble);
  auto gaps = torch::randn({5, 6}).slice(1, 0, 6, 2);
  auto last = torch::randn({2, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast);
  const std::vector<torch::Tensor> tensors{odd, gaps, last};
  const auto expected = copies(tensors);
  const auto items = items_of({tensors});
  {
    const auto scope = scope_of(items, nullptr);
    move(items, scope);
    scope.evaluate({[&] {
      EXPECT_FALSE(torch::equal(expected[1], gaps));
      EXPECT_FALSE(torch::equal(expected[2], last));
      return torch::ones({});
    }});
  }
  expect_same_bits(expected, tensors);
}

// It has saved weights, and a buffer that evaluations write to.
TEST_P(ProbeScopeTest, LeavesALiveGraphValid) {
  auto counter = torch::ones({8, 1}, torch::kDouble);
  auto w = torch::randn({8, 3}, torch::kDouble).set_requires_grad(true);
  const auto items = items_of({{w}});
  const auto loss = (w * w * counter).sum();
  const auto versions = std::make_pair(w._version(), counter._version());
  const ForwardState before({counter}, *backend_);
  {
    const auto scope = scope_of(items, &before);
    move(items, scope);
    scope.evaluate({[&] {
      counter += 1;
      return (w * counter).sum();
    }});
  }
  EXPECT_EQ(versions, std::make_pair(w._version(), counter._version()));
  loss.backward();
  EXPECT_TRUE(torch::equal(w.grad(), 2 * w.detach()));
}

// As a recurrent layer does that gathers its weights into one block.
TEST_P(ProbeScopeTest, PointsBackAParameterThatTheLossHasPointedElsewhere) {
  auto w = torch::randn({6}).set_requires_grad(true);
  const auto expected = w.detach().clone();
  const auto* const memory = w.data_ptr();
  const auto items = items_of({{w}});
  {
    const auto scope = scope_of(items, nullptr);
    move(items, scope);
    const auto elsewhere = [&] {
      w.set_data(w.detach().clone());
      return w.sum();
    };
    scope.evaluate({elsewhere});
    EXPECT_EQ(memory, w.data_ptr());
  }
  EXPECT_EQ(memory, w.data_ptr());
  expect_same_bits({expected}, {w});
}

TEST_P(ProbeScopeTest, SharedNoiseReplaysTheMasksAndFreshDoesNot) {
  for (bool shared : {true, false}) {
    net_->masks.clear();
    ForwardState before(net_->buffers(), *backend_);
    evaluate_base(before);
    for (int probe = 0; probe < 2; ++probe)
      ProbeScope(*backend_, lane_, GetParam(), items_, {}, shared ? &before : nullptr).evaluate({[&] {
        return loss_of(net_, batch_);
      }});
    ASSERT_EQ(3u, net_->masks.size());
    EXPECT_EQ(shared, torch::equal(net_->masks[0], net_->masks[1]));
    EXPECT_EQ(shared, torch::equal(net_->masks[1], net_->masks[2]));
  }
}

TEST_P(ProbeScopeTest, AFunctionThatReadsItsOwnBuffersIsTheSameFunctionAtEveryEvaluation) {
  auto counter = torch::zeros({1});
  const auto counting = [&] {
    counter += 1;
    return counter.sum();
  };
  const ForwardState before({counter}, *backend_);
  const double base = counting().item<double>();
  for (int probe = 0; probe < 2; ++probe)
    EXPECT_EQ(base, scope_of(items_, &before).evaluate({counting}).item<double>());
  EXPECT_EQ(1, counter.item<double>());
}

TEST_P(ProbeScopeTest, LeavesABufferOfAnyKindAndShapeAsItWas) {
  auto sparse = torch::eye(3).to_sparse();
  auto shrinking = torch::arange(1000);
  auto transposed = torch::randn({4, 5}).t();
  auto with_gaps = torch::randn({4, 6}).slice(1, 0, 6, 2);
  const std::vector<torch::Tensor> buffers{sparse, shrinking, transposed, with_gaps};
  const auto as_plain = [&] {
    return std::vector<torch::Tensor>{sparse.to_dense(), shrinking, transposed, with_gaps};
  };
  const auto expected = copies(as_plain());
  const auto strides = transposed.strides().vec();
  const ForwardState before(buffers, *backend_);
  for (const bool throws : {false, true}) {
    const auto probing = [&] {
      scope_of(items_, &before).evaluate({[&] {
        expect_same_bits(expected, as_plain());
        sparse.set_data(torch::zeros({3, 3}).to_sparse());
        shrinking.set_data(torch::zeros({2}, torch::kLong));
        transposed.zero_();
        with_gaps.zero_();
        if (throws) throw std::runtime_error("after it has written");
        return torch::ones({});
      }});
    };
    if (throws)
      EXPECT_THROW(probing(), std::runtime_error);
    else
      probing();
    expect_same_bits(expected, as_plain());
    EXPECT_EQ(strides, transposed.strides().vec());
  }
}

using CopiedWeights = ProbeScopeTest;
INSTANTIATE_TEST_SUITE_P(Weights, CopiedWeights, ::testing::Values(false));

TEST_P(CopiedWeights, OnceMoreInPlaceAreTheSameNumberAndLeaveTheSame) {
  ForwardState before(net_->buffers(), *backend_);
  evaluate_base(before);
  const auto expected = everything();
  const auto* const memory = net_->first->weight.data_ptr();
  const auto scope = scope_of(items_, &before);
  move(items_, scope);
  const double copied = scope
                            .evaluate({[&] {
                              EXPECT_NE(memory, net_->first->weight.data_ptr());
                              return loss_of(net_, batch_);
                            }})
                            .item<double>();
  {
    const ProbeScope again(scope, /*in_place=*/true, &before);
    move(items_, again);
    const double in_place = again
                                .evaluate({[&] {
                                  EXPECT_EQ(memory, net_->first->weight.data_ptr());
                                  return loss_of(net_, batch_);
                                }})
                                .item<double>();
    EXPECT_EQ(copied, in_place);
  }
  before.draws.after_probes();
  expect_same_bits(expected, everything());
}

// What can be copied back without changing its kind or shape, and the rest.
TEST(ForwardState, KnowsWhichBuffersHaveBecomeOfAnotherKind) {
  const auto backend = make_backend(at::kCPU);
  auto shape = torch::arange(10.0);
  auto type = torch::arange(10);
  auto same = torch::ones({2, 3});
  const ForwardState before({shape, type, same}, *backend);
  EXPECT_FALSE(before.has_replaced_buffers());
  shape.set_data(torch::zeros({9}));
  type.set_data(torch::zeros({10}, torch::kInt));
  same.set_data(torch::zeros({2, 3}));
  EXPECT_TRUE(before.has_replaced_buffers());
  before.restore_replaced_buffers();
  EXPECT_FALSE(before.has_replaced_buffers());
  EXPECT_TRUE(torch::equal(shape, torch::arange(10.0)));
  EXPECT_TRUE(torch::equal(type, torch::arange(10)));
  EXPECT_TRUE(torch::equal(same, torch::zeros({2, 3}))) << "left alone";
  const auto version = same._version();
  before.restore_buffers(*backend);
  EXPECT_TRUE(torch::equal(same, torch::ones({2, 3})));
  EXPECT_EQ(version, same._version());
  auto sparse = torch::eye(3).to_sparse();
  EXPECT_TRUE(ForwardState({sparse}, *backend).has_replaced_buffers())
      << "what is sparse has no memory of its own to copy to";
}

}  // namespace
}  // namespace sadam::step
