// The batches of a data set, as tensors where the network is.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/loader.h"
#include "train/training.h"

namespace sadam::train {

/// What training and evaluation draw from.
class Feed {
 public:
  virtual ~Feed() = default;

  /// Batches in an epoch.
  virtual std::int64_t batches() const = 0;
  /// Begins epoch `epoch` with its batch number `first_batch`, both from 0.
  virtual void start(std::int64_t epoch, std::int64_t first_batch = 0) = 0;
  /// The next `count` batches of the epoch, or as many as are left. They are valid until the next call. Where
  /// the options take a part of each batch, some may be empty.
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

/// What a feed on a GPU is made of: fills tensors of the caller's, the same ones every time if the caller
/// likes, with the batches that a data::Loader of the same options would give, bit for bit.
class Batches {
 public:
  virtual ~Batches() = default;

  /// Batches in an epoch.
  virtual std::size_t batches() const = 0;

  /// Begins epoch `epoch` with its batch number `first_batch` (both from 0).
  virtual void start(std::size_t epoch, std::size_t first_batch = 0) = 0;

  /// Writes the next batch to the first rows of `images` (float32, at least as many as the batch has × 3 ×
  /// pixels × pixels, contiguous or channels_last) and `labels` (int64); returns how many it wrote, 0 at the
  /// end of the epoch or where its part of a batch is empty. Throws as the loader does.
  ///
  /// On a GPU the work is enqueued on the current stream and not waited for. start() and next() may be called
  /// on different streams; the tensors are the caller's to guard.
  virtual std::size_t next(const at::Tensor& images, const at::Tensor& labels) = 0;

  /// Bytes of device memory that hold the set; 0 where every batch is copied.
  virtual std::size_t device_bytes() const = 0;
};

/// The fastest batches for a device: from a set that lives there, where it fits into half of the free memory;
/// else copied one by one.
std::unique_ptr<Batches> open_batches(std::shared_ptr<const data::ImageSet> images,
                                      const data::LoaderOptions& options, c10::Device device);

/// Batches that the CPU makes, copied to wherever the tensors are: by way of pinned memory to a GPU, so that
/// nobody waits for the copy. For sets that do not fit on the device.
class CopiedBatches final : public Batches {
 public:
  CopiedBatches(std::shared_ptr<const data::ImageSet> images, const data::LoaderOptions& options);

  std::size_t batches() const override { return loader_.batches(); }
  void start(std::size_t epoch, std::size_t first_batch = 0) override { loader_.start(epoch, first_batch); }
  std::size_t next(const at::Tensor& images, const at::Tensor& labels) override;
  std::size_t device_bytes() const override { return 0; }

 private:
  std::int64_t pixels_;
  data::Loader loader_;
  data::Batch batch_;
};

/// A set that lives on a GPU as bytes, at its own size where it is in memory (resized on the way into a
/// batch), at the size of the batches where it comes from files (which are read once, by so many threads as
/// the options say). A batch is one kernel (data/device/gather.h), and nothing waits for the host. In a build
/// without CUDA it cannot be made.
class DeviceImages final : public Batches {
 public:
  /// Uploads the set, and waits for it. Throws an Error where memory does not suffice.
  DeviceImages(const data::ImageSet& images, const data::LoaderOptions& options, c10::Device device);
  ~DeviceImages() override;

  std::size_t batches() const override;
  void start(std::size_t epoch, std::size_t first_batch = 0) override;
  std::size_t next(const at::Tensor& images, const at::Tensor& labels) override;
  std::size_t device_bytes() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Bytes of device memory that a set would take, and those that are free for it.
struct DeviceRoom {
  std::size_t needed = 0;
  std::size_t free = 0;
  /// Whether it takes no more than half of them: the rest is for the network.
  bool fits() const { return needed <= free / 2; }
};
DeviceRoom device_room(const data::ImageSet& images, c10::Device device);

/// Throws an Error unless the tensors can take `count` images of so many pixels, as Batches::next() says.
void check_batch_tensors(const at::Tensor& images, const at::Tensor& labels, std::int64_t count,
                         std::int64_t pixels);

}  // namespace sadam::train
