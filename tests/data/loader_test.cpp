#include "data/loader.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/numbered_set.h"
#include "support/refusal.h"

namespace sadam::data {
namespace {

using samples::epoch_of;
using samples::expect_equal;
using samples::kImageBytes;
using samples::kSide;
using samples::labels_of;
using samples::loader_options;
using samples::NumberedSet;
using samples::rest_of_epoch;

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

std::string loader_refusal(const LoaderOptions& options) {
  return sadam::testing::refusal([&] { Loader(std::make_shared<NumberedSet>(3), options); });
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

TEST(Loader, PartsOfABatchMakeItUpAndMayBeEmpty) {
  for (const std::size_t parts : {1u, 2u, 3u, 5u}) {
    const auto whole = epoch_of(11, loader_options(4), 6);  // 4, 4 and 3 images
    auto joined = whole;
    for (auto& batch : joined) batch = {};
    std::size_t smallest = 11;
    for (std::size_t part = 0; part < parts; ++part) {
      auto options = loader_options(4, 2);
      options.part = part;
      options.parts = parts;
      const auto batches = epoch_of(11, options, 6);
      ASSERT_EQ(whole.size(), batches.size());
      for (std::size_t b = 0; b < batches.size(); ++b) {
        EXPECT_LE(batches[b].size, (whole[b].size + parts - 1) / parts);
        smallest = std::min(smallest, batches[b].size);
        joined[b].size += batches[b].size;
        joined[b].labels.insert(joined[b].labels.end(), batches[b].labels.begin(), batches[b].labels.end());
        joined[b].images.insert(joined[b].images.end(), batches[b].images.begin(), batches[b].images.end());
      }
    }
    expect_equal(whole, joined);
    EXPECT_EQ(smallest, parts == 5 ? 0u : 3u / parts);
  }
}

TEST(Loader, PartsMayTakeTurnsWithWholeBatches) {
  const auto whole = epoch_of(11, loader_options(4), 6);
  for (std::size_t part = 0; part < 2; ++part) {
    auto options = loader_options(4);
    options.part = part;
    options.parts = 2;
    options.parts_take_turns = true;
    auto expected = whole;
    for (std::size_t b = 1 - part; b < expected.size(); b += 2) expected[b] = {};
    expect_equal(expected, epoch_of(11, options, 6));
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
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_EQ("image 23 is damaged.", sadam::testing::refusal([&] { loader.next(batch); }));
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
    Batch batch;
    EXPECT_EQ("image 2 is damaged.", sadam::testing::refusal([&] { loader.next(batch); }));
  }
}

TEST(Loader, WhatCannotBeDoneIsRefusedWithASentence) {
  EXPECT_NE(std::string::npos, loader_refusal(loader_options(0)).find("batch of 0"));
  EXPECT_NE(std::string::npos, loader_refusal(loader_options(1, 0)).find("0 threads"));
  auto chosen = loader_options(1);
  chosen.ahead = 0;
  EXPECT_NE(std::string::npos, loader_refusal(chosen).find("0 batches ahead"));
  Loader loader(std::make_shared<NumberedSet>(3), loader_options(1));
  Batch batch;
  EXPECT_THROW(loader.start(0, 4), Error);
  loader.start(0, 3);
  EXPECT_FALSE(loader.next(batch));
}

}  // namespace
}  // namespace sadam::data
