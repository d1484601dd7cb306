// Stands in for cuda.cpp where there is no CUDA.
#include <sadam/error.h>

#include "train/device.h"
#include "train/feed.h"

namespace sadam::train {
namespace {

[[noreturn]] void refuse_device_data() {
  throw Error(
      "this build of sadam cannot put data on a GPU: build it with a libtorch for CUDA and nvcc, or use the "
      "device cpu.");
}

}  // namespace

struct DeviceImages::State {};

DeviceRoom device_room(const data::ImageSet&, c10::Device) { refuse_device_data(); }

DeviceImages::DeviceImages(const data::ImageSet&, const data::LoaderOptions&, c10::Device) {
  refuse_device_data();
}
DeviceImages::~DeviceImages() = default;

std::size_t DeviceImages::batches() const { refuse_device_data(); }
std::size_t DeviceImages::device_bytes() const { refuse_device_data(); }
void DeviceImages::start(std::size_t, std::size_t) { refuse_device_data(); }
std::size_t DeviceImages::next(const at::Tensor&, const at::Tensor&) { refuse_device_data(); }

DeviceMemory::DeviceMemory(const c10::Device& device) : device_(device) {}
std::int64_t DeviceMemory::peak() const { return before_; }
std::string device_model(const c10::Device& device) { return device.str(); }

}  // namespace sadam::train
