// What a GPU's memory was used for.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace sadam::train {

/// The most bytes that tensors have taken at a time since this was made, beyond those they took then: an
/// earlier run of the process leaves some behind, such as the workspaces of libraries. 0 without CUDA.
class DeviceMemory {
 public:
  explicit DeviceMemory(const c10::Device& device);
  std::int64_t peak() const;

 private:
  c10::Device device_;
  std::int64_t before_ = 0;
};

/// "NVIDIA H200".
std::string device_model(const c10::Device& device);

}  // namespace sadam::train
