// Images that can be told apart, and what a loader makes of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "data/loader.h"

namespace sadam::data::samples {

inline constexpr std::size_t kSide = 5;
inline constexpr std::size_t kImageBytes = 3 * kSide * kSide;

/// Image i has label i, and byte p of it is (31·i + 7·p) mod 256.
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

inline LoaderOptions loader_options(std::size_t batch, int threads = 1, std::uint64_t seed = 1) {
  LoaderOptions options;
  options.batch = batch;
  options.threads = threads;
  options.seed = seed;
  return options;
}

inline std::vector<Batch> rest_of_epoch(Loader& loader) {
  std::vector<Batch> batches;
  for (Batch batch; loader.next(batch);) batches.push_back(batch);
  return batches;
}

inline std::vector<Batch> epoch_of(std::size_t size, const LoaderOptions& options, std::size_t epoch,
                                   std::size_t first = 0) {
  Loader loader(std::make_shared<NumberedSet>(size), options);
  loader.start(epoch, first);
  return rest_of_epoch(loader);
}

inline std::vector<std::int64_t> labels_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> labels;
  for (const auto& batch : batches) labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  return labels;
}

inline void expect_equal(const std::vector<Batch>& expected, const std::vector<Batch>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    EXPECT_EQ(expected[b].size, actual[b].size);
    EXPECT_EQ(expected[b].labels, actual[b].labels);
    EXPECT_EQ(expected[b].images, actual[b].images);
  }
}

}  // namespace sadam::data::samples
