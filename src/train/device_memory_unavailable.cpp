// Stands in for device_memory.cpp where there is no CUDA.
#include "train/device_memory.h"

namespace sadam::train {

DeviceMemory::DeviceMemory(const c10::Device& device) : device_(device) {}
std::int64_t DeviceMemory::peak() const { return before_; }
std::string device_model(const c10::Device& device) { return device.str(); }

}  // namespace sadam::train
