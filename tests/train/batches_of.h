// The batches of an epoch, by the CPU's loader and by whatever is compared with it.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "data/device/gather_case.h"
#include "train/feed.h"

namespace sadam::train {

struct MadeBatch {
  torch::Tensor images, labels;
};

inline std::vector<MadeBatch> loaders_batches(const std::shared_ptr<const data::ImageSet>& set,
                                              const data::LoaderOptions& options, std::size_t epoch,
                                              std::size_t first_batch = 0) {
  data::Loader loader(set, options);
  loader.start(epoch, first_batch);
  std::vector<MadeBatch> all;
  const auto side = static_cast<std::int64_t>(set->pixels());
  for (data::Batch batch; loader.next(batch);) {
    const auto count = static_cast<std::int64_t>(batch.size);
    all.push_back({torch::from_blob(batch.images.data(), {count, 3, side, side}, torch::kFloat).clone(),
                   torch::from_blob(batch.labels.data(), {count}, torch::kLong).clone()});
  }
  return all;
}

/// Through one pair of tensors on `device`, filled with nonsense before each batch.
inline std::vector<MadeBatch> all_batches(Batches& batches, std::size_t batch, std::size_t pixels,
                                          torch::Device device, torch::MemoryFormat format, std::size_t epoch,
                                          std::size_t first_batch = 0) {
  const auto side = static_cast<std::int64_t>(pixels);
  const auto images =
      torch::empty({static_cast<std::int64_t>(batch), 3, side, side}, torch::device(device), format);
  const auto labels =
      torch::empty({static_cast<std::int64_t>(batch)}, torch::device(device).dtype(torch::kLong));
  std::vector<MadeBatch> all;
  batches.start(epoch, first_batch);
  for (;;) {
    images.fill_(-1000);
    labels.fill_(-1);
    const auto count = static_cast<std::int64_t>(batches.next(images, labels));
    if (count == 0) return all;
    all.push_back(
        {images.narrow(0, 0, count).clone().cpu().contiguous(), labels.narrow(0, 0, count).clone().cpu()});
    EXPECT_TRUE(images.narrow(0, count, images.size(0) - count).eq(-1000).all().item<bool>());
  }
}

inline void expect_same_batches(const std::vector<MadeBatch>& expected,
                                const std::vector<MadeBatch>& batches) {
  ASSERT_EQ(expected.size(), batches.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(torch::equal(expected[i].images, batches[i].images)) << "batch " << i;
    EXPECT_TRUE(torch::equal(expected[i].labels, batches[i].labels)) << "batch " << i;
  }
}

}  // namespace sadam::train
