#include "probe/written_memory.h"

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

TEST(WrittenMemory, IsStillLookedAtAfterAnotherLook) {
  auto shared = torch::zeros({4});
  const WrittenMemory direct([&] { shared.add_(1); });
  const WrittenMemory outer([&] {
    const WrittenMemory another([] {});
    shared.add_(1);
  });
  EXPECT_TRUE(direct.overlaps(outer));
}

}  // namespace
}  // namespace sadam::probe
