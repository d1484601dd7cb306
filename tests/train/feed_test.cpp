#include "train/feed.h"

#include "support/models.h"
#include "train/batches_of.h"

namespace sadam::train {
namespace {

using data::device::GatherSample;

TEST(CopiedBatches, AreTheLoadersInEitherLayout) {
  const GatherSample sample({8, 8, 12, 23, 5, false});
  CopiedBatches batches(sample.set, sample.options);
  EXPECT_EQ(5u, batches.batches());
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast})
    for (const std::size_t epoch : {0, 1})
      expect_same_batches(loaders_batches(sample.set, sample.options, epoch, 2),
                          all_batches(batches, 5, 12, torch::kCPU, format, epoch, 2));
}

TEST(CopiedBatches, RefuseTensorsThatDoNotFit) {
  const GatherSample sample({8, 8, 8, 6, 4, false});
  const auto expect_unfit = [&](const torch::Tensor& images, const torch::Tensor& labels) {
    CopiedBatches batches(sample.set, sample.options);
    batches.start(0);
    EXPECT_THROW(batches.next(images, labels), Error);
  };
  const auto images = torch::empty({4, 3, 8, 8});
  const auto labels = torch::empty({4}, torch::kLong);
  expect_unfit(images.narrow(0, 0, 3), labels);
  expect_unfit(images, labels.narrow(0, 0, 3));
  expect_unfit(torch::empty({4, 3, 9, 8}), labels);
  expect_unfit(images.to(torch::kDouble), labels);
  expect_unfit(images, labels.to(torch::kInt));
  expect_unfit(torch::empty({4, 3, 8, 16}).slice(3, 0, 16, 2), labels);
}

TEST(OpenBatches, OnTheCpuAreCopied) {
  const GatherSample sample({8, 8, 8, 6, 4, false});
  const auto batches = open_batches(sample.set, sample.options, torch::kCPU);
  EXPECT_EQ(0u, batches->device_bytes());
  expect_same_batches(loaders_batches(sample.set, sample.options, 3),
                      all_batches(*batches, 4, 8, torch::kCPU, torch::MemoryFormat::Contiguous, 3));
}

TEST(Feed, GivesTheLoadersBatchesSoManyAtATimeAndThenWhatIsLeft) {
  const GatherSample sample({8, 8, 8, 22, 4, false});  // five batches of four and one of two
  const auto feed = open_feed(sample.set, sample.options, torch::kCPU);
  ASSERT_EQ(6, feed->batches());
  EXPECT_STREQ("host", feed->home());
  std::vector<std::size_t> sizes;
  std::vector<MadeBatch> all;
  feed->start(1, 1);
  for (auto some = feed->next(3); !some.empty(); some = feed->next(3)) {
    sizes.push_back(some.size());
    for (const auto& batch : some) all.push_back({batch[0].clone(), batch[1].clone()});
  }
  EXPECT_EQ((std::vector<std::size_t>{3, 2}), sizes);
  expect_same_batches(loaders_batches(sample.set, sample.options, 1, 1), all);
}

TEST(DeviceRoom, FitsIntoHalfOfWhatIsFree) {
  EXPECT_TRUE((DeviceRoom{50, 100}.fits()));
  EXPECT_FALSE((DeviceRoom{51, 100}.fits()));
}

}  // namespace
}  // namespace sadam::train
