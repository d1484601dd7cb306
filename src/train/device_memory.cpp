#include "train/device_memory.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>

namespace sadam::train {

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
