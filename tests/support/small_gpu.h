// A GPU made small.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

namespace sadam::testing {

constexpr double kMiB = 1 << 20;

/// Bytes that are free and that there are, after torch has given back what it does not use.
inline std::pair<std::size_t, std::size_t> emptied() {
  c10::cuda::CUDACachingAllocator::emptyCache();
  std::pair<std::size_t, std::size_t> bytes;
  cudaMemGetInfo(&bytes.first, &bytes.second);
  return bytes;
}

/// While it lives, the GPU has only `mib` free, as a smaller one would.
class SmallGpu {
 public:
  explicit SmallGpu(double mib) {
    const auto free = emptied().first;
    const auto left = static_cast<std::size_t>(mib * kMiB);
    if (free <= left) return;  // small already
    EXPECT_EQ(cudaMalloc(&taken_, free - left), cudaSuccess);
    static_cast<void>(cudaGetLastError());
  }
  ~SmallGpu() { cudaFree(taken_); }
  SmallGpu(const SmallGpu&) = delete;
  SmallGpu& operator=(const SmallGpu&) = delete;

 private:
  void* taken_ = nullptr;
};

}  // namespace sadam::testing
