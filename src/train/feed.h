// The batches of a data set as tensors where the network is.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "data/loader.h"
#include "train/training.h"

namespace sadam::train {

class Feed {
 public:
  virtual ~Feed() = default;

  /// Batches in an epoch.
  virtual std::int64_t batches() const = 0;
  /// Begins epoch `epoch` with its batch number `first_batch`, both from 0.
  virtual void start(std::int64_t epoch, std::int64_t first_batch = 0) = 0;
  /// The next `count` batches of the epoch, or as many as are left. They are valid until the next call.
  virtual std::vector<TensorBatch> next(std::int64_t count = 1) = 0;
  /// Where the images are before they are needed: "GPU" or "host".
  virtual const char* home() const = 0;
};

/// For a training, which sees the set again and again: on a GPU the set lives there, if it fits.
std::unique_ptr<Feed> open_feed(std::shared_ptr<const data::ImageSet> images,
                                const data::LoaderOptions& options, c10::Device device);

/// For a set that is seen once: its batches are copied one by one.
std::unique_ptr<Feed> open_passing_feed(std::shared_ptr<const data::ImageSet> images,
                                        const data::LoaderOptions& options, c10::Device device);

}  // namespace sadam::train
