#include "train/batches.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sadam/error.h>

#include <sstream>
#include <utility>

#include "train/device_data.h"

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

}  // namespace

void check_batch_tensors(const at::Tensor& images, const at::Tensor& labels, std::int64_t count,
                         std::int64_t pixels) {
  const bool shaped = images.dim() == 4 && images.size(0) >= count && images.size(1) == 3 &&
                      images.size(2) == pixels && images.size(3) == pixels && labels.dim() == 1 &&
                      labels.size(0) >= count;
  const bool typed = images.scalar_type() == at::kFloat && labels.scalar_type() == at::kLong;
  const bool laid_out = images.is_contiguous() || images.is_contiguous(at::MemoryFormat::ChannelsLast);
  if (shaped && typed && laid_out && labels.is_contiguous() && images.device() == labels.device()) return;
  std::ostringstream sentence;
  sentence << "a batch of " << count << " images of " << pixels
           << " pixels was to be written to tensors of type " << images.toString() << " and "
           << labels.toString() << " with sizes " << images.sizes() << " and " << labels.sizes()
           << ": they must be float32 and int64, on one device, without gaps, and large enough.";
  throw Error(sentence.str());
}

std::unique_ptr<Batches> open_batches(std::shared_ptr<const data::ImageSet> images,
                                      const data::LoaderOptions& options, c10::Device device,
                                      const UploadProgress& progress) {
  if (device.is_cuda() && device_room(*images, device).fits())
    return std::make_unique<DeviceImages>(*images, options, device, progress);
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
