#include "train/feed.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/StringUtil.h>
#include <fmt/format.h>
#include <sadam/error.h>

#include <utility>

namespace sadam::train {
namespace {

/// Copies `count` numbers at `from` to `to`, which may be on a GPU; the host's are free again on return.
template <class T>
void copy_to(const at::Tensor& to, T* from, at::ScalarType type) {
  const auto host = at::from_blob(from, to.sizes(), type);
  if (!to.is_cuda()) {
    to.copy_(host);
    return;
  }
  // torch's own allocator of pinned memory gives a block out again only when the copy from it is done.
  const auto pinned = at::empty(to.sizes(), host.options().pinned_memory(true));
  pinned.copy_(host);
  to.copy_(pinned, /*non_blocking=*/true);
}

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
    next_batch_ = first_batch;
  }

  std::vector<TensorBatch> next(std::int64_t count) override {
    while (static_cast<std::int64_t>(held_.size()) < count) held_.push_back(empty_batch());
    std::vector<TensorBatch> result;
    for (std::int64_t i = 0; i < count && next_batch_ < batches(); ++i, ++next_batch_) {
      const auto& tensors = held_[static_cast<std::size_t>(i)];
      const auto n = static_cast<std::int64_t>(batches_->next(tensors[0], tensors[1]));
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
  std::int64_t next_batch_ = 0;
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

void check_batch_tensors(const at::Tensor& images, const at::Tensor& labels, std::int64_t count,
                         std::int64_t pixels) {
  const bool shaped = images.dim() == 4 && images.size(0) >= count && images.size(1) == 3 &&
                      images.size(2) == pixels && images.size(3) == pixels && labels.dim() == 1 &&
                      labels.size(0) >= count;
  const bool typed = images.scalar_type() == at::kFloat && labels.scalar_type() == at::kLong;
  const bool laid_out = images.is_contiguous() || images.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (shaped && typed && laid_out && labels.is_contiguous() && images.device() == labels.device()) return;
  throw Error(fmt::format(
      "a batch of {} images of {} pixels was to be written to tensors of type {} and {} with sizes "
      "{} and {}: they must be float32 and int64, on one device, without gaps, and large enough.",
      count, pixels, images.toString(), labels.toString(), c10::str(images.sizes()),
      c10::str(labels.sizes())));
}

std::unique_ptr<Batches> open_batches(std::shared_ptr<const data::ImageSet> images,
                                      const data::LoaderOptions& options, c10::Device device) {
  if (device.is_cuda() && device_room(*images, device).fits())
    return std::make_unique<DeviceImages>(*images, options, device);
  return std::make_unique<CopiedBatches>(std::move(images), options);
}

CopiedBatches::CopiedBatches(std::shared_ptr<const data::ImageSet> images, const data::LoaderOptions& options)
    : pixels_(static_cast<std::int64_t>(images->pixels())), loader_(std::move(images), options) {}

std::size_t CopiedBatches::next(const at::Tensor& images, const at::Tensor& labels) {
  if (!loader_.next(batch_)) return 0;
  const auto count = static_cast<std::int64_t>(batch_.size);
  check_batch_tensors(images, labels, count, pixels_);
  copy_to(images.narrow(0, 0, count), batch_.images.data(), at::kFloat);
  copy_to(labels.narrow(0, 0, count), batch_.labels.data(), at::kLong);
  return batch_.size;
}

}  // namespace sadam::train
