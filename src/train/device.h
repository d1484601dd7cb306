// Where a run computes, by name.
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <vector>

namespace sadam::train {

/// Whether "cpu", "cuda" or "cuda:N" names a GPU.
bool is_gpu(const std::string& name);

/// The device. Throws a `UsageError` for anything but "cpu", "cuda" and "cuda:N", and an `Error` that says
/// what is missing where there is no such GPU, or where the program was built without CUDA.
c10::Device device_named(const std::string& name);

/// "cpu", or the name of the GPU: for the record.
std::string description_of(const c10::Device& device);

/// A line for each GPU, or one that says why there is none.
std::vector<std::string> gpu_lines();

}  // namespace sadam::train
