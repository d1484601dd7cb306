// What needs CUDA: data sets that live on a GPU (train/feed.h), and what a GPU's memory was used for
// (train/device.h).
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "data/device/gather_element.h"
#include "data/image_set.h"
#include "train/device.h"
#include "train/feed.h"

namespace sadam::train {
namespace {

constexpr std::size_t kUploadBytes = std::size_t{64} << 20;  ///< of files read, then copied, at a time

std::string megabytes(std::size_t bytes) { return fmt::format("{} MB", (bytes + 999'999) / 1'000'000); }

c10::Device with_index(c10::Device device) {
  if (!device.is_cuda())
    throw Error(
        fmt::format("a data set was to be put on the device '{}', which is no GPU: use cuda.", device.str()));
  return device.has_index() ? device : c10::Device(c10::kCUDA, c10::cuda::current_device());
}

/// What the set is on the device: its own bytes, or its images as they are read.
std::size_t pixel_bytes(const data::ImageSet& images) {
  const auto* stored = images.stored();
  return stored != nullptr ? stored->pixels.size() : images.size() * images.bytes_per_image();
}

/// A copy on the device. Waits for it, since the memory is not pinned.
template <class T>
at::Tensor uploaded(const T* data, std::size_t count, at::ScalarType type, c10::Device device) {
  const auto host = at::from_blob(const_cast<T*>(data), {static_cast<std::int64_t>(count)}, type);
  return host.to(host.options().device(device));
}

at::Tensor uploaded_files(const data::ImageSet& images, int threads, c10::Device device) {
  const auto bytes = images.bytes_per_image();
  const auto at_a_time = std::max<std::size_t>(1, kUploadBytes / bytes);
  const auto options = at::TensorOptions(at::kByte);
  const auto all = at::empty({static_cast<std::int64_t>(images.size() * bytes)}, options.device(device));
  const auto host =
      at::empty({static_cast<std::int64_t>(std::min(at_a_time, images.size()) * bytes)}, options);
  for (std::size_t first = 0; first < images.size(); first += at_a_time) {
    const auto count = std::min(at_a_time, images.size() - first);
    data::read_images(images, first, count, static_cast<std::uint8_t*>(host.data_ptr()), threads);
    const auto length = static_cast<std::int64_t>(count * bytes);
    all.narrow(0, static_cast<std::int64_t>(first * bytes), length).copy_(host.narrow(0, 0, length));
  }
  return all;
}

template <class T>
const T* data_at(const at::Tensor& tensor) {
  return static_cast<const T*>(tensor.data_ptr());
}

}  // namespace

DeviceRoom device_room(const data::ImageSet& images, c10::Device device) {
  const c10::cuda::CUDAGuard guard(with_index(device));
  DeviceRoom room;
  constexpr std::size_t kOrderBytes = 2 * sizeof(std::uint32_t);  // of this epoch, and of the next
  room.needed = pixel_bytes(images) + images.size() * (sizeof(std::int64_t) + kOrderBytes);
  std::size_t total = 0;
  const auto status = cudaMemGetInfo(&room.free, &total);
  if (status != cudaSuccess)
    throw Error(fmt::format("the memory of the device '{}' cannot be asked for: {}.", device.str(),
                            cudaGetErrorString(status)));
  // What torch keeps for itself without using it is free for its own tensors.
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  const auto kept = stats.reserved_bytes[0].current - stats.allocated_bytes[0].current;
  room.free += static_cast<std::size_t>(std::max<std::int64_t>(kept, 0));
  return room;
}

struct DeviceImages::State {
  State(const data::ImageSet& images, const data::LoaderOptions& given, c10::Device on)
      : options(data::checked_options(given)), device(with_index(on)), count(images.size()) {
    const c10::cuda::CUDAGuard guard(device);
    const auto table = data::normalization_table(options.normalization);
    const auto* stored = images.stored();
    pixels = stored != nullptr ? uploaded(stored->pixels.data(), stored->pixels.size(), at::kByte, device)
                               : uploaded_files(images, options.threads, device);
    std::vector<std::int64_t> all_labels(count);
    for (std::size_t i = 0; i < count; ++i) all_labels[i] = images.label(i);
    labels = uploaded(all_labels.data(), count, at::kLong, device);
    normalization = uploaded(table[0].data(), 3 * table[0].size(), at::kFloat, device);

    const auto side = images.pixels();
    const auto width = stored != nullptr ? stored->width : side;
    const auto height = stored != nullptr ? stored->height : side;
    const data::Resizer resizer({width, height}, {side, side});
    const auto across_numbers = data::device::packed(resizer.across());
    const auto down_numbers = data::device::packed(resizer.down());
    across = uploaded(across_numbers.data(), across_numbers.size(), at::kInt, device);
    down = uploaded(down_numbers.data(), down_numbers.size(), at::kInt, device);

    launch.stored = data_at<std::uint8_t>(pixels);
    launch.stored_labels = data_at<std::int64_t>(labels);
    launch.height = static_cast<std::int32_t>(height);
    launch.width = static_cast<std::int32_t>(width);
    launch.pixels = static_cast<std::int32_t>(side);
    launch.across = data::device::axis_at(data_at<std::int32_t>(across), resizer.across());
    launch.down = data::device::axis_at(data_at<std::int32_t>(down), resizer.down());
    launch.normalization = data_at<float>(normalization);
  }

  std::size_t batches() const { return (count + options.batch - 1) / options.batch; }

  /// Into new memory: kernels in flight still read the order of the epoch before, whose memory torch gives
  /// out again only after them.
  void upload_order(std::size_t epoch) {
    const auto numbers = data::shuffled_order(count, options.seed, epoch);
    const auto pinned =
        at::empty({static_cast<std::int64_t>(count)}, at::TensorOptions(at::kInt).pinned_memory(true));
    std::memcpy(pinned.data_ptr(), numbers.data(), numbers.size() * sizeof(numbers[0]));
    const auto stream = c10::cuda::getCurrentCUDAStream(device.index());
    order = pinned.to(pinned.options().pinned_memory(false).device(device), /*non_blocking=*/true);
    order_stream = stream;
    order_is_there.record(stream.unwrap());
  }

  const data::LoaderOptions options;
  const c10::Device device;
  const std::size_t count;
  at::Tensor pixels, labels, normalization, across, down;
  data::device::Gather launch;  ///< what all batches have in common

  at::Tensor order;  ///< undefined: the set's own
  std::optional<c10::cuda::CUDAStream> order_stream;
  c10::Event order_is_there{c10::kCUDA};
  bool started = false;
  std::size_t next_batch = 0;
};

DeviceImages::DeviceImages(const data::ImageSet& images, const data::LoaderOptions& options,
                           c10::Device device) try
    : state_(std::make_unique<State>(images, options, device)) {
} catch (const c10::OutOfMemoryError&) {
  const auto room = device_room(images, device);
  throw Error(fmt::format(
      "a data set of {} does not fit into the {} that are free on the device '{}': take fewer images, or "
      "smaller ones.",
      megabytes(room.needed), megabytes(room.free), device.str()));
}

DeviceImages::~DeviceImages() = default;

std::size_t DeviceImages::batches() const { return state_->batches(); }

std::size_t DeviceImages::device_bytes() const {
  return state_->pixels.nbytes() + state_->labels.nbytes() + 2 * state_->count * sizeof(std::uint32_t);
}

void DeviceImages::start(std::size_t epoch, std::size_t first_batch) {
  if (first_batch > batches())
    throw Error(fmt::format("an epoch cannot begin at batch {}: it has {}.", first_batch, batches()));
  const c10::cuda::CUDAGuard guard(state_->device);
  if (state_->options.shuffle) state_->upload_order(epoch);
  state_->next_batch = first_batch;
  state_->started = true;
}

std::size_t DeviceImages::next(const at::Tensor& images, const at::Tensor& labels) {
  auto& state = *state_;
  if (!state.started)
    throw Error("a data set was asked for a batch before an epoch was started: call start() first.");
  const auto [first, count] = data::range_of_batch(state.options, state.next_batch, state.count);
  ++state.next_batch;
  if (count == 0) return 0;
  check_batch_tensors(images, labels, static_cast<std::int64_t>(count), state.launch.pixels);
  if (images.device() != state.device)
    throw Error(fmt::format("a batch was to be written to the device '{}': its data set is on '{}'.",
                            images.device().str(), state.device.str()));
  const c10::cuda::CUDAGuard guard(state.device);
  const auto stream = c10::cuda::getCurrentCUDAStream(state.device.index());
  auto launch = state.launch;
  if (state.order.defined()) {
    if (stream != *state.order_stream) {
      state.order_is_there.block(stream.unwrap());
      state.order.record_stream(stream.unwrap());
    }
    launch.order = data_at<std::uint32_t>(state.order);
  }
  launch.first = static_cast<std::int64_t>(first);
  launch.count = static_cast<std::int64_t>(count);
  launch.images = static_cast<float*>(images.data_ptr());
  launch.labels = static_cast<std::int64_t*>(labels.data_ptr());
  launch.channels_last = !images.is_contiguous();
  launch.stream = stream.stream();
  data::device::gather(launch);
  return count;
}

DeviceMemory::DeviceMemory(const c10::Device& device) : device_(device) {
  at::globalContext().lazyInitDevice(at::kCUDA);  // the allocator must have been started
  c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
  before_ = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).allocated_bytes[0].current;
}

std::int64_t DeviceMemory::peak() const {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index()).allocated_bytes[0].peak - before_;
}

std::string device_model(const c10::Device& device) {
  return at::cuda::getDeviceProperties(device.index())->name;
}

}  // namespace sadam::train
