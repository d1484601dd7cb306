#include "train/device.h"

#include <sadam/error.h>
#include <torch/cuda.h>

#include <charconv>

#include "base/quote.h"
#include "base/usage_error.h"
#include "step/backend.h"
#include "train/device_memory.h"

namespace sadam::train {

bool is_gpu(const std::string& name) { return name != "cpu"; }

c10::Device device_named(const std::string& name) {
  if (name == "cpu") return c10::kCPU;
  int index = 0;
  if (name != "cuda") {
    const auto* const digits = name.data() + 5;
    const auto* const end = name.data() + name.size();
    const bool has_index = name.size() > 5 && name.size() < 9 && name.rfind("cuda:", 0) == 0 &&
                           std::from_chars(digits, end, index).ptr == end && index >= 0;
    if (!has_index)
      throw UsageError("there is no device " + base::in_quotes(name) + ": use cpu, cuda or cuda:N.");
  }
  if (!step::built_with_cuda())
    throw Error(
        "this sadam was built without CUDA: build it with nvcc and a libtorch for CUDA, or use --device "
        "cpu.");
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (index >= count)
    throw Error("there is no GPU " + std::to_string(index) + " here (GPUs here: " + std::to_string(count) +
                "): use another one, or --device cpu.");
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

std::vector<std::string> gpu_lines() {
  if (!step::built_with_cuda()) return {"none (built without CUDA)"};
  std::vector<std::string> lines;
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i)
    lines.push_back("cuda:" + std::to_string(i) + ", " +
                    device_model({c10::kCUDA, static_cast<c10::DeviceIndex>(i)}));
  if (lines.empty()) lines.emplace_back("none answers");
  return lines;
}

std::string description_of(const c10::Device& device) {
  return device.is_cuda() ? device_model(device) : "cpu";
}

}  // namespace sadam::train
