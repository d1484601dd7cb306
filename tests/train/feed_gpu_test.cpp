#include "train/feed.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <sadam/error.h>

#include "support/gpu.h"
#include "support/no_waiting.h"
#include "support/small_gpu.h"
#include "train/batches_of.h"

namespace sadam::train {
namespace {

using data::device::GatherCase;
using data::device::GatherSample;

constexpr auto kNchw = torch::MemoryFormat::Contiguous;
constexpr auto kNhwc = torch::MemoryFormat::ChannelsLast;

TEST(DeviceImages, GiveTheLoadersBatchesBitForBit) {
  SADAM_NEEDS_GPU();
  for (const auto& each : data::device::gather_cases()) {
    const GatherSample sample(each);
    DeviceImages images(*sample.set, sample.options, torch::kCUDA);
    for (const std::size_t epoch : {0, 1, 2})
      expect_same_batches(loaders_batches(sample.set, sample.options, epoch),
                          all_batches(images, each.batch, each.pixels, torch::kCUDA,
                                      each.channels_last ? kNhwc : kNchw, epoch));
  }
}

TEST(DeviceImages, BeginInTheMiddleOfAnEpochAndInTheSetsOwnOrder) {
  SADAM_NEEDS_GPU();
  GatherSample sample({32, 32, 32, 50, 8, false});
  DeviceImages shuffled(*sample.set, sample.options, torch::kCUDA);
  expect_same_batches(loaders_batches(sample.set, sample.options, 4, 3),
                      all_batches(shuffled, 8, 32, torch::kCUDA, kNchw, 4, 3));
  sample.options.shuffle = false;
  DeviceImages in_order(*sample.set, sample.options, torch::kCUDA);
  expect_same_batches(loaders_batches(sample.set, sample.options, 0),
                      all_batches(in_order, 8, 32, torch::kCUDA, kNchw, 0));
}

TEST(DeviceImages, AreNotWaitedFor) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({32, 32, 224, 50, 8, false});
  DeviceImages images(*sample.set, sample.options, torch::kCUDA);
  const auto on_gpu = torch::TensorOptions().device(torch::kCUDA);
  const auto pixels = torch::empty({8, 3, 224, 224}, on_gpu);
  const auto labels = torch::empty({8}, on_gpu.dtype(torch::kLong));
  images.start(0);
  images.next(pixels, labels);  // CUDA loads the kernel
  const sadam::testing::NoWaiting scope;
  for (std::size_t i = 1; i < images.batches(); ++i) EXPECT_NO_THROW(images.next(pixels, labels));
  EXPECT_NO_THROW(images.start(1));
  EXPECT_NO_THROW(images.next(pixels, labels));
}

/// A set that is not in memory at its own size, as folders of pictures are.
class ReadImages : public data::ImageSet {
 public:
  explicit ReadImages(std::shared_ptr<const data::ImageSet> set) : set_(std::move(set)) {}
  std::size_t size() const override { return set_->size(); }
  std::int64_t classes() const override { return set_->classes(); }
  std::size_t pixels() const override { return set_->pixels(); }
  std::int64_t label(std::size_t i) const override { return set_->label(i); }
  void read(std::size_t i, std::uint8_t* out) const override { set_->read(i, out); }

 private:
  std::shared_ptr<const data::ImageSet> set_;
};

TEST(DeviceImages, AreReadOnceWhereTheSetIsNotInMemory) {
  SADAM_NEEDS_GPU();
  GatherSample sample({20, 30, 224, 700, 64, false});  // more than is read at a time
  sample.options.threads = 3;
  DeviceImages images(ReadImages(sample.set), sample.options, torch::kCUDA);
  EXPECT_GE(images.device_bytes(), 700u * 3 * 224 * 224);
  expect_same_batches(loaders_batches(sample.set, sample.options, 1),
                      all_batches(images, 64, 224, torch::kCUDA, kNhwc, 1));
}

TEST(DeviceImages, ANewEpochDoesNotDisturbBatchesThatAreStillBeingMade) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({32, 32, 32, 4096, 4096, false});
  DeviceImages images(*sample.set, sample.options, torch::kCUDA);
  std::vector<MadeBatch> made;
  for (std::size_t epoch = 0; epoch < 6; ++epoch) {  // all enqueued before the first is done
    made.push_back({torch::empty({4096, 3, 32, 32}, torch::kCUDA),
                    torch::empty({4096}, torch::device(torch::kCUDA).dtype(torch::kLong))});
    images.start(epoch);
    images.next(made.back().images, made.back().labels);
  }
  for (std::size_t epoch = 0; epoch < made.size(); ++epoch)
    expect_same_batches(loaders_batches(sample.set, sample.options, epoch),
                        {{made[epoch].images.cpu(), made[epoch].labels.cpu()}});
}

TEST(DeviceImages, WorkOnAStreamOtherThanTheOneTheEpochBeganOn) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({32, 32, 32, 4096, 4096, false});
  DeviceImages images(*sample.set, sample.options, torch::kCUDA);
  const auto to = torch::empty({4096, 3, 32, 32}, torch::kCUDA);
  const auto labels = torch::empty({4096}, torch::device(torch::kCUDA).dtype(torch::kLong));
  torch::cuda::synchronize();
  for (std::size_t epoch = 0; epoch < 4; ++epoch) {
    images.start(epoch);
    const auto stream = c10::cuda::getStreamFromPool();
    {
      const c10::cuda::CUDAStreamGuard guard(stream);
      images.next(to, labels);
    }
    stream.synchronize();
    expect_same_batches(loaders_batches(sample.set, sample.options, epoch), {{to.cpu(), labels.cpu()}});
  }
}

TEST(DeviceImages, SayWhatIsWrong) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({8, 8, 8, 6, 4, false});
  DeviceImages images(*sample.set, sample.options, torch::kCUDA);
  const auto to = torch::empty({4, 3, 8, 8}, torch::kCUDA);
  const auto labels = torch::empty({4}, torch::device(torch::kCUDA).dtype(torch::kLong));
  EXPECT_THROW(images.next(to, labels), Error) << "no epoch was started";
  EXPECT_THROW(images.start(0, 3), Error);
  images.start(0);
  EXPECT_THROW(images.next(to.cpu(), labels.cpu()), Error);
  EXPECT_THROW(DeviceImages(*sample.set, sample.options, torch::kCPU), Error);
}

TEST(DeviceRoomOnGpu, CountsTheBytesOfTheSet) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({32, 32, 224, 100, 4, false});
  const auto room = device_room(*sample.set, torch::kCUDA);
  EXPECT_EQ(100u * (3 * 32 * 32 + 8 + 8), room.needed);
  EXPECT_GT(room.free, room.needed);
  EXPECT_EQ(room.needed, DeviceImages(*sample.set, sample.options, torch::kCUDA).device_bytes());
  EXPECT_NE(0u, open_batches(sample.set, sample.options, torch::kCUDA)->device_bytes());
}

TEST(DeviceRoomOnGpu, ASetThatDoesNotFitStaysOnTheHost) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({20, 30, 224, 700, 64, false});
  const auto read = std::make_shared<ReadImages>(sample.set);  // 100 MiB
  const auto want = loaders_batches(sample.set, sample.options, 1);
  const sadam::testing::SmallGpu small(190);
  const auto batches = open_batches(read, sample.options, torch::kCUDA);
  EXPECT_EQ(0u, batches->device_bytes());
  expect_same_batches(want, all_batches(*batches, 64, 224, torch::kCUDA, kNchw, 1));
}

TEST(CopiedBatchesOnGpu, AreTheLoaders) {
  SADAM_NEEDS_GPU();
  const GatherSample sample({32, 32, 64, 50, 8, false});
  CopiedBatches batches(sample.set, sample.options);
  for (const auto format : {kNchw, kNhwc})
    expect_same_batches(loaders_batches(sample.set, sample.options, 1),
                        all_batches(batches, 8, 64, torch::kCUDA, format, 1));
}

}  // namespace
}  // namespace sadam::train
