#include "probe/writes.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

namespace sadam::probe {
namespace {

/// Whether doing the two at the same time would be a race.
bool race(const std::function<void()>& one, const std::function<void()>& another) {
  const WrittenMemory first(one);
  const WrittenMemory second(another);
  EXPECT_EQ(first.overlaps(second), second.overlaps(first));
  return first.overlaps(second);
}

TEST(WrittenMemory, IsSharedWhereTwoWriteTheSameTensorOrViewsOfIt) {
  auto shared = torch::zeros({4, 3});
  EXPECT_TRUE(race([&] { shared.add_(1); }, [&] { shared.mul_(2); }));
  EXPECT_TRUE(race([&] { shared[0].add_(1); }, [&] { shared.view({-1}).slice(0, 6).zero_(); }));
  EXPECT_TRUE(race(
      [&] {
        shared.copy_(torch::ones({4, 3}));
      },
      [&] { torch::add_out(shared, shared, shared); }));
  const auto held = shared.detach();
  EXPECT_TRUE(race([&] { torch::_foreach_add_({torch::ones({2}), held}, 1); }, [&] { shared.fill_(1); }));
}

TEST(WrittenMemory, IsNotSharedWhereItIsThatOfTensorsExcepted) {
  const auto known = torch::zeros({4, 4});
  const auto other = torch::zeros({4});
  const WrittenMemory a([&] { known[1].add_(1); });
  const WrittenMemory b([&] { known.mul_(2); });
  EXPECT_FALSE(a.overlaps(b, {torch::Tensor(), known[2]}));
  EXPECT_TRUE(a.overlaps(b, {other}));
}

TEST(WrittenMemory, IsNotSharedWhereEachWritesItsOwn) {
  auto one = torch::zeros({4});
  auto another = torch::zeros({4});
  EXPECT_FALSE(race([&] { one.add_(another); }, [&] { another.add_(one); }));
  EXPECT_FALSE(race([&] { one.add_(1); }, [&] { static_cast<void>(one + 1); }));
  EXPECT_FALSE(race([] {}, [] {}));
}

// The second gets the memory that the first has let go of.
TEST(WrittenMemory, IsNotSharedWhereResultsOfTheWorkAreWritten) {
  const auto x = torch::ones({64, 64});
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) torch::relu_(torch::zeros({64, 64}).add_(x.mm(x)));
  };
  EXPECT_FALSE(race(work, work));
}

TEST(WrittenMemory, OfABatchNormIsThatOfItsBuffers) {
  torch::nn::BatchNorm1d norm(3);
  const auto copy = std::dynamic_pointer_cast<torch::nn::BatchNorm1dImpl>(norm->clone());
  const auto x = torch::randn({5, 3});
  EXPECT_TRUE(race([&] { norm->forward(x); }, [&] { norm->forward(x); }));
  EXPECT_FALSE(race([&] { norm->forward(x); }, [&] { copy->forward(x); }));
  const auto mean = torch::zeros({3});
  const auto variance = torch::ones({3});
  for (const bool training : {true, false}) {
    const auto work = [&] { torch::batch_norm(x, {}, {}, mean, variance, training, 0.1, 1e-5, false); };
    EXPECT_EQ(race(work, work), training);
  }
}

TEST(WrittenMemory, IsNotLookedAtBeforeAndAfterOrOnOtherThreads) {
  auto shared = torch::zeros({4});
  const WrittenMemory writes([&] { shared.add_(1); });
  shared.add_(1);
  const WrittenMemory nothing([&] { std::thread([&] { shared.add_(1); }).join(); });
  shared.add_(1);
  EXPECT_FALSE(writes.overlaps(nothing));
}

TEST(WrittenMemory, IsNotLookedAtAnyMoreAfterAnException) {
  auto shared = torch::zeros({4});
  EXPECT_THROW(WrittenMemory([&]() -> void { throw std::runtime_error("no"); }), std::runtime_error);
  shared.add_(1);  // would write to what is gone
  EXPECT_TRUE(race([&] { shared.add_(1); }, [&] { shared.add_(1); }));
}

TEST(WrittenMemory, IsThatOfALookWithinALookToo) {
  auto one = torch::zeros({4});
  auto another = torch::zeros({4});
  const WrittenMemory outer([&] {
    const WrittenMemory inner([&] { one.add_(1); });
    EXPECT_TRUE(inner.has(one));
    another.add_(1);
    EXPECT_FALSE(inner.has(another));
  });
  EXPECT_TRUE(outer.has(one));
  EXPECT_TRUE(outer.has(another));
  EXPECT_FALSE(outer.has(torch::zeros({4})));
  EXPECT_FALSE(outer.has(torch::Tensor()));
}

TEST(Undo, PutsBackWhatWasChangedAndOnlyThat) {
  const auto flat = torch::arange(6.0);
  auto changed = torch::tensor({1.5, 2.5}).set_requires_grad(true);
  auto twice = torch::tensor({3.5});
  auto left_alone = torch::tensor({4.5});
  auto first = flat.slice(0, 0, 3);
  auto rest = flat.slice(0, 3);
  Undo undo({changed, twice, left_alone, first, rest, torch::Tensor()});
  undo.watch([&] {
    const torch::NoGradGuard no_grad;
    changed.mul_(2);
    twice.add_(1);
    twice.add_(1);
    rest.zero_();
    const Undo unrelated({twice});
  });
  undo.watch([&] { first.zero_(); });
  left_alone.data_ptr<float>()[0] = 5;  // not through torch
  const auto version = changed._version();
  undo.restore();
  EXPECT_EQ(changed._version(), version);
  EXPECT_TRUE(torch::equal(changed, torch::tensor({1.5, 2.5})));
  EXPECT_EQ(twice.item<float>(), 3.5f);
  EXPECT_EQ(left_alone.item<float>(), 5);
  EXPECT_TRUE(torch::equal(flat, torch::arange(6.0)));
}

TEST(Undo, PutsBackTheMemoryOfATensorThatWasReplaced) {
  auto replaced = torch::tensor({1.5, 2.5}).set_requires_grad(true);
  const auto* const memory = replaced.data_ptr();
  Undo undo({replaced});
  undo.watch([&] {
    const torch::NoGradGuard no_grad;
    replaced.mul_(3);
    replaced.set_data(torch::tensor({7.5, 8.5}));
    replaced.mul_(2);
  });
  undo.restore();
  EXPECT_EQ(replaced.data_ptr(), memory);
  EXPECT_TRUE(torch::equal(replaced, torch::tensor({1.5, 2.5})));
  EXPECT_TRUE(replaced.requires_grad());
}

TEST(Undo, PutsBackWhatWorkThatFailedHadChanged) {
  auto changed = torch::tensor({1.5});
  Undo undo({changed});
  EXPECT_THROW(undo.watch([&] {
    changed.zero_();
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  undo.restore();
  EXPECT_EQ(changed.item<float>(), 1.5f);
}

}  // namespace
}  // namespace sadam::probe
