#include "train/feed.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <utility>

#include "train/batches.h"

namespace sadam::train {
namespace {

// On the CPU the tensors are the loader's own memory.
class HostFeed : public Feed {
 public:
  HostFeed(const std::shared_ptr<const data::ImageSet>& images, const data::LoaderOptions& options)
      : side_(static_cast<std::int64_t>(images->pixels())), loader_(images, options) {}

  std::int64_t batches() const override { return static_cast<std::int64_t>(loader_.batches()); }

  void start(std::int64_t epoch, std::int64_t first_batch) override {
    loader_.start(static_cast<std::size_t>(epoch), static_cast<std::size_t>(first_batch));
  }

  std::vector<TensorBatch> next(std::int64_t count) override {
    held_.resize(static_cast<std::size_t>(count));
    std::vector<TensorBatch> result;
    for (auto& batch : held_) {
      if (!loader_.next(batch)) break;
      const auto n = static_cast<std::int64_t>(batch.size);
      result.push_back({at::from_blob(batch.images.data(), {n, 3, side_, side_}, at::kFloat),
                        at::from_blob(batch.labels.data(), {n}, at::kLong)});
    }
    return result;
  }

  const char* home() const override { return "host"; }

 private:
  std::int64_t side_;
  data::Loader loader_;
  std::vector<data::Batch> held_;  // of the last call
};

// On a GPU they are the same ones each time.
class DeviceFeed : public Feed {
 public:
  DeviceFeed(std::unique_ptr<Batches> batches, std::size_t batch, std::size_t pixels, c10::Device device)
      : batches_(std::move(batches)),
        batch_(static_cast<std::int64_t>(batch)),
        side_(static_cast<std::int64_t>(pixels)),
        device_(device) {
    held_.push_back(empty_batch());  // before anybody looks how much memory is free
  }

  std::int64_t batches() const override { return static_cast<std::int64_t>(batches_->batches()); }

  void start(std::int64_t epoch, std::int64_t first_batch) override {
    batches_->start(static_cast<std::size_t>(epoch), static_cast<std::size_t>(first_batch));
  }

  std::vector<TensorBatch> next(std::int64_t count) override {
    while (static_cast<std::int64_t>(held_.size()) < count) held_.push_back(empty_batch());
    std::vector<TensorBatch> result;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto& tensors = held_[static_cast<std::size_t>(i)];
      const auto n = static_cast<std::int64_t>(batches_->next(tensors[0], tensors[1]));
      if (n == 0) break;
      result.push_back({tensors[0].narrow(0, 0, n), tensors[1].narrow(0, 0, n)});
    }
    return result;
  }

  const char* home() const override { return batches_->device_bytes() > 0 ? "GPU" : "host"; }

 private:
  TensorBatch empty_batch() const {
    return {at::empty({batch_, 3, side_, side_}, at::TensorOptions().dtype(at::kFloat).device(device_)),
            at::empty({batch_}, at::TensorOptions().dtype(at::kLong).device(device_))};
  }

  std::unique_ptr<Batches> batches_;
  std::int64_t batch_;
  std::int64_t side_;
  c10::Device device_;
  std::vector<TensorBatch> held_;
};

}  // namespace

std::unique_ptr<Feed> open_feed(std::shared_ptr<const data::ImageSet> images,
                                const data::LoaderOptions& options, c10::Device device) {
  if (device.is_cpu()) return std::make_unique<HostFeed>(images, options);
  const auto pixels = images->pixels();
  return std::make_unique<DeviceFeed>(open_batches(std::move(images), options, device), options.batch, pixels,
                                      device);
}

std::unique_ptr<Feed> open_passing_feed(std::shared_ptr<const data::ImageSet> images,
                                        const data::LoaderOptions& options, c10::Device device) {
  if (device.is_cpu()) return std::make_unique<HostFeed>(images, options);
  const auto pixels = images->pixels();
  return std::make_unique<DeviceFeed>(std::make_unique<CopiedBatches>(std::move(images), options),
                                      options.batch, pixels, device);
}

}  // namespace sadam::train
