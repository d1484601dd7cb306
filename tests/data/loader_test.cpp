#include "data/loader.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sadam::data {
namespace {

constexpr std::size_t kSide = 5;
constexpr std::size_t kImageBytes = 3 * kSide * kSide;

// Image i has label i, and byte p of it is (31·i + 7·p) mod 256.
class NumberedSet : public ImageSet {
 public:
  explicit NumberedSet(std::size_t size) : size_(size) {}
  std::size_t size() const override { return size_; }
  std::int64_t classes() const override { return static_cast<std::int64_t>(size_); }
  std::size_t pixels() const override { return kSide; }
  std::int64_t label(std::size_t i) const override { return static_cast<std::int64_t>(i); }
  void read(std::size_t i, std::uint8_t* out) const override {
    for (std::size_t p = 0; p < kImageBytes; ++p) out[p] = static_cast<std::uint8_t>(31 * i + 7 * p);
  }

 private:
  std::size_t size_;
};

// Some images cannot be read; and images later in memory are read sooner, so that errors come out of order.
class DamagedSet : public NumberedSet {
 public:
  DamagedSet(std::size_t size, std::set<std::size_t> damaged)
      : NumberedSet(size), damaged_(std::move(damaged)) {}
  void read(std::size_t i, std::uint8_t* out) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(10 * (size() - i)));
    if (damaged_.contains(i)) throw Error("image " + std::to_string(i) + " is damaged.");
    NumberedSet::read(i, out);
  }

 private:
  std::set<std::size_t> damaged_;
};

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

LoaderOptions loader_options(std::size_t batch, int threads = 1, std::uint64_t seed = 1) {
  LoaderOptions options;
  options.batch = batch;
  options.threads = threads;
  options.seed = seed;
  return options;
}

std::vector<Batch> rest_of_epoch(Loader& loader) {
  std::vector<Batch> batches;
  for (Batch batch; loader.next(batch);) batches.push_back(batch);
  return batches;
}

std::vector<Batch> epoch_of(std::size_t size, const LoaderOptions& options, std::size_t epoch,
                            std::size_t first = 0) {
  Loader loader(std::make_shared<NumberedSet>(size), options);
  loader.start(epoch, first);
  return rest_of_epoch(loader);
}

std::vector<std::int64_t> labels_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> labels;
  for (const auto& batch : batches) labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  return labels;
}

void expect_equal(const std::vector<Batch>& expected, const std::vector<Batch>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    EXPECT_EQ(expected[b].size, actual[b].size);
    EXPECT_EQ(expected[b].labels, actual[b].labels);
    EXPECT_EQ(expected[b].images, actual[b].images);
  }
}

std::string loader_refusal(const LoaderOptions& options) {
  try {
    Loader(std::make_shared<NumberedSet>(3), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Loader, BatchesHoldTheImagesOfTheOrderNormalised) {
  auto chosen = loader_options(4, 2, 11);
  chosen.normalization = {{0.1f, 0.2f, 0.3f}, {0.5f, 0.25f, 2.0f}};
  const auto batches = epoch_of(11, chosen, 6);
  const auto order = shuffled_order(11, 11, 6);
  ASSERT_EQ(3u, batches.size());
  EXPECT_EQ(3u, batches.back().size);
  std::vector<std::uint8_t> bytes(kImageBytes);
  for (std::size_t place = 0; place < 11; ++place) {
    const auto& batch = batches[place / 4];
    EXPECT_EQ(order[place], batch.labels[place % 4]);
    NumberedSet(11).read(order[place], bytes.data());
    for (std::size_t p = 0; p < kImageBytes; ++p) {
      const auto channel = p / (kSide * kSide);
      EXPECT_EQ((static_cast<float>(bytes[p]) / 255 - chosen.normalization.mean[channel]) /
                    chosen.normalization.deviation[channel],
                batch.images[place % 4 * kImageBytes + p]);
    }
  }
}

TEST(Loader, SizesMatchTheBatch) {
  for (std::size_t size : {0u, 1u, 7u, 8u, 13u}) {
    const auto batches = epoch_of(size, loader_options(4), 0);
    EXPECT_EQ((size + 3) / 4, batches.size());
    EXPECT_EQ((size + 3) / 4, Loader(std::make_shared<NumberedSet>(size), loader_options(4)).batches());
    EXPECT_EQ(size, labels_of(batches).size());
    for (const auto& batch : batches) {
      EXPECT_EQ(batch.size, batch.labels.size());
      EXPECT_EQ(batch.size * kImageBytes, batch.images.size());
    }
  }
}

TEST(Loader, BatchesDoNotDependOnThreadsOrQueue) {
  for (std::size_t size : {0u, 1u, 97u, 1009u}) {
    const auto expected = epoch_of(size, loader_options(10), 2);
    for (int threads : {1, 2, 3, 8}) {
      for (std::size_t ahead : {1u, 2u, 5u, 1000u}) {
        auto chosen = loader_options(10, threads);
        chosen.ahead = ahead;
        expect_equal(expected, epoch_of(size, chosen, 2));
      }
    }
  }
}

TEST(Loader, WithoutShufflingImagesComeInTheirOwnOrder) {
  auto chosen = loader_options(4, 3);
  chosen.shuffle = false;
  std::vector<std::int64_t> expected(11);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(expected, labels_of(epoch_of(11, chosen, 0)));
  EXPECT_EQ(expected, labels_of(epoch_of(11, chosen, 1)));
}

TEST(Loader, EpochsFollowEachOtherInOneLoader) {
  Loader loader(std::make_shared<NumberedSet>(23), loader_options(5, 3));
  for (std::size_t epoch : {0u, 1u, 5u, 1u}) {
    loader.start(epoch);
    expect_equal(epoch_of(23, loader_options(5), epoch), rest_of_epoch(loader));
    Batch batch;
    EXPECT_FALSE(loader.next(batch));
    EXPECT_EQ(0u, batch.size);
    EXPECT_TRUE(batch.images.empty());
  }
}

TEST(Loader, AResumedEpochGoesOnWhereItStopped) {
  const auto whole = epoch_of(53, loader_options(5), 4);
  for (std::size_t first = 0; first <= whole.size(); ++first)
    expect_equal({whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end()},
                 epoch_of(53, loader_options(5, 2), 4, first));
}

TEST(Loader, StartingInMidEpochDropsWhatWasBeingMade) {
  Loader loader(std::make_shared<NumberedSet>(211), loader_options(5, 4));
  for (std::size_t epoch = 0; epoch < 200; ++epoch) {
    loader.start(epoch, epoch % 40);
    Batch batch;
    for (std::size_t taken = 0; taken < epoch % 7; ++taken) loader.next(batch);
  }
  loader.start(3);
  expect_equal(epoch_of(211, loader_options(5), 3), rest_of_epoch(loader));
}

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

TEST(Loader, MayBeDestroyedAtAnyMoment) {
  for (std::size_t taken = 0; taken < 60; ++taken) {
    Loader loader(std::make_shared<NumberedSet>(101), loader_options(2, 1 + static_cast<int>(taken % 4)));
    if (taken > 0) loader.start(0);
    Batch batch;
    for (std::size_t i = 1; i < taken; ++i) loader.next(batch);
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

TEST(Loader, AnErrorComesAtItsBatchAndIsNotSkipped) {
  auto chosen = loader_options(10, 4);
  chosen.shuffle = false;
  const auto good = epoch_of(60, chosen, 0);
  Loader loader(std::make_shared<DamagedSet>(60, std::set<std::size_t>{23, 27, 41}), chosen);
  loader.start(0);
  Batch batch;
  for (std::size_t b : {0u, 1u}) {
    ASSERT_TRUE(loader.next(batch));
    EXPECT_EQ(good[b].labels, batch.labels);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      loader.next(batch);
      ADD_FAILURE() << "a damaged image was passed over";
    } catch (const Error& error) {
      EXPECT_STREQ("image 23 is damaged.", error.what());
    }
  }
  loader.start(0, 3);
  ASSERT_TRUE(loader.next(batch));
  EXPECT_EQ(good[3].images, batch.images);
}

TEST(Loader, TheFirstErrorOfABatchIsTheOneReportedWhicheverComesFirst) {
  class LargeDamagedSet : public DamagedSet {
   public:
    using DamagedSet::DamagedSet;
    std::size_t pixels() const override { return 200; }
  };
  auto chosen = loader_options(8, 8);
  chosen.shuffle = false;
  for (int round = 0; round < 20; ++round) {
    Loader loader(std::make_shared<LargeDamagedSet>(8, std::set<std::size_t>{2, 5, 7}), chosen);
    loader.start(0);
    try {
      Batch batch;
      loader.next(batch);
      ADD_FAILURE() << "a damaged image was passed over";
    } catch (const Error& error) {
      EXPECT_STREQ("image 2 is damaged.", error.what());
    }
  }
}

TEST(Loader, WaitingIsCounted) {
  const auto images = std::make_shared<GatedSet>(1);
  Loader loader(images, loader_options(1));
  EXPECT_EQ(0, loader.waited_seconds());
  loader.start(0);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    images->open();
  });
  Batch batch;
  loader.next(batch);
  opener.join();
  EXPECT_GT(loader.waited_seconds(), 0);
}

TEST(Loader, WhatCannotBeDoneIsRefusedWithASentence) {
  EXPECT_NE(std::string::npos, loader_refusal(loader_options(0)).find("batch of 0"));
  EXPECT_NE(std::string::npos, loader_refusal(loader_options(1, 0)).find("0 threads"));
  auto chosen = loader_options(1);
  chosen.ahead = 0;
  EXPECT_NE(std::string::npos, loader_refusal(chosen).find("0 batches ahead"));
  for (const float deviation : {0.0f, -1.0f, std::nanf("")}) {
    chosen = loader_options(1);
    chosen.normalization.deviation[1] = deviation;
    EXPECT_NE(std::string::npos, loader_refusal(chosen).find("deviation"));
  }
  Loader loader(std::make_shared<NumberedSet>(3), loader_options(1));
  Batch batch;
  EXPECT_THROW(loader.next(batch), Error);
  EXPECT_THROW(loader.start(0, 4), Error);
  loader.start(0, 3);
  EXPECT_FALSE(loader.next(batch));
}

}  // namespace
}  // namespace sadam::data
