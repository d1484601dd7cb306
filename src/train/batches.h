// The batches of a data set, on the device that trains.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "data/loader.h"

namespace sadam::train {

/// Fills tensors of the caller's, the same ones every time if the caller likes, with the batches that a
/// data::Loader of the same options would give, bit for bit.
class Batches {
 public:
  virtual ~Batches() = default;

  /// Batches in an epoch.
  virtual std::size_t batches() const = 0;

  /// Begins epoch `epoch` with its batch number `first_batch` (both from 0).
  virtual void start(std::size_t epoch, std::size_t first_batch = 0) = 0;

  /// Writes the next batch to the first rows of `images` (float32, at least as many as the batch has × 3 ×
  /// pixels × pixels, contiguous or channels_last) and `labels` (int64); returns how many it wrote, 0 at the
  /// end of the epoch. Throws as the loader does.
  ///
  /// On a GPU the work is enqueued on the current stream and not waited for. start() and next() may be called
  /// on different streams; the tensors are the caller's to guard.
  virtual std::size_t next(const at::Tensor& images, const at::Tensor& labels) = 0;

  /// Seconds that next() has spent waiting for images.
  virtual double waited_seconds() const = 0;

  /// Bytes of device memory that hold the set; 0 where every batch is copied.
  virtual std::size_t device_bytes() const = 0;
};

/// Called while images are read from files, with how many of how many have been; may throw, to stop.
using UploadProgress = std::function<void(std::size_t done, std::size_t all)>;

/// The fastest batches for a device: from a set that lives there, where it fits into half of the free memory;
/// else copied one by one.
std::unique_ptr<Batches> open_batches(std::shared_ptr<const data::ImageSet> images,
                                      const data::LoaderOptions& options, c10::Device device,
                                      const UploadProgress& progress = {});

/// Batches that the CPU makes, copied to wherever the tensors are: by way of pinned memory to a GPU, so that
/// nobody waits for the copy. For sets that do not fit on the device (train/device_data.h).
class CopiedBatches final : public Batches {
 public:
  CopiedBatches(std::shared_ptr<const data::ImageSet> images, const data::LoaderOptions& options);

  std::size_t batches() const override { return loader_.batches(); }
  void start(std::size_t epoch, std::size_t first_batch = 0) override { loader_.start(epoch, first_batch); }
  std::size_t next(const at::Tensor& images, const at::Tensor& labels) override;
  double waited_seconds() const override { return loader_.waited_seconds(); }
  std::size_t device_bytes() const override { return 0; }

 private:
  std::int64_t pixels_;
  data::Loader loader_;
  data::Batch batch_;
};

/// Throws an Error unless the tensors can take `count` images of so many pixels, as next() says.
void check_batch_tensors(const at::Tensor& images, const at::Tensor& labels, std::int64_t count,
                         std::int64_t pixels);

}  // namespace sadam::train
