// What the loader's threads do meanwhile: how far ahead they go, and how they are stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "data/loader.h"
#include "data/numbered_set.h"

namespace sadam::data {
namespace {

using samples::epoch_of;
using samples::labels_of;
using samples::loader_options;
using samples::NumberedSet;
using samples::rest_of_epoch;

// Images that take as long as the test wants.
class GatedSet : public NumberedSet {
 public:
  using NumberedSet::NumberedSet;
  void read(std::size_t i, std::uint8_t* out) const override {
    std::unique_lock lock(mutex_);
    ++reads_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    NumberedSet::read(i, out);
  }
  void wait_for_reads(std::size_t reads) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reads_ >= reads; });
  }
  void open() const {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  std::size_t reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::size_t reads_ = 0;
  mutable bool open_ = false;
};

// Images so large that a worker takes one at a time (of each only the first few bytes are written).
class LargeSet : public GatedSet {
 public:
  using GatedSet::GatedSet;
  std::size_t pixels() const override { return 200; }
};

TEST(Loader, StartingInMidBatchMakesTheNewBatchWhole) {
  const auto images = std::make_shared<LargeSet>(16);
  Loader loader(images, loader_options(8, 2));
  loader.start(0);
  images->wait_for_reads(2);  // two images of the first batch are taken, six are not
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until start() has dropped the six
    images->open();
  });
  loader.start(3);
  opener.join();
  EXPECT_EQ(labels_of(epoch_of(16, loader_options(8), 3)), labels_of(rest_of_epoch(loader)));
}

// Nobody reads an image, or keeps the set, once the loader is gone; until then every batch was right.
TEST(Loader, DestroyedAtAnyMomentLeavesNothingRunning) {
  const auto whole = labels_of(epoch_of(101, loader_options(2), 0));
  for (std::size_t taken = 0; taken <= 52; ++taken) {
    const auto images = std::make_shared<GatedSet>(101);
    images->open();
    std::vector<std::int64_t> labels;
    {
      Loader loader(images, loader_options(2, 1 + static_cast<int>(taken % 4)));
      loader.start(0);
      Batch batch;
      for (std::size_t i = 0; i < taken && loader.next(batch); ++i)
        labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    }
    const auto reads = images->reads();
    EXPECT_EQ(images.use_count(), 1) << taken;
    EXPECT_EQ(labels.size(), std::min<std::size_t>(2 * taken, 101));
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), whole.begin())) << taken;
    std::this_thread::yield();
    EXPECT_EQ(images->reads(), reads) << taken;
  }
}

TEST(Loader, DestructionWaitsForTheImageInHandAlone) {
  const auto images = std::make_shared<GatedSet>(1000);
  auto loader = std::make_unique<Loader>(images, loader_options(500, 2));
  loader->start(0);
  images->wait_for_reads(2);
  std::thread opener([&] {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(20));  // until the destructor has asked them to stop
    images->open();
  });
  loader.reset();
  opener.join();
  EXPECT_LT(images->reads(), 1000u);
}

TEST(Loader, ABatchOfLargeImagesIsSharedByAllWorkers) {
  const auto images = std::make_shared<LargeSet>(4);
  Loader loader(images, loader_options(4, 4));
  loader.start(0);
  images->wait_for_reads(4);  // hangs if a worker kept all of them to itself
  images->open();
  Batch batch;
  EXPECT_TRUE(loader.next(batch));
}

TEST(Loader, NoMoreBatchesAreMadeAheadThanAsked) {
  const auto images = std::make_shared<GatedSet>(100);
  images->open();
  auto chosen = loader_options(5, 2);
  chosen.ahead = 3;
  Loader loader(images, chosen);
  loader.start(0);
  images->wait_for_reads(15);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for what must not happen
  EXPECT_EQ(15u, images->reads());
  Batch batch;
  loader.next(batch);
  images->wait_for_reads(20);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(20u, images->reads());
}

TEST(Loader, BuffersAreUsedAgain) {
  auto chosen = loader_options(4, 2);
  chosen.ahead = 2;
  Loader loader(std::make_shared<NumberedSet>(400), chosen);
  std::set<const float*> buffers;
  Batch batch;
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    loader.start(epoch);
    while (loader.next(batch)) buffers.insert(batch.images.data());
  }
  EXPECT_EQ(3u, buffers.size());  // one in each of two slots, one with the caller
}

}  // namespace
}  // namespace sadam::data
