// Sums that have the same bits on every run: each chunk leaves one partial sum, made in a fixed order, and
// the partial sums are added in a fixed order by a kernel of its own.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {

/// *out += Σ parts.
struct AddParts {
  const double* parts = nullptr;
  std::int64_t count = 0;
  double* out = nullptr;
};
void add_parts(const AddParts& sum, Stream stream);

#ifdef __CUDACC__
/// Σ mine over the threads of the block, known to all of them. Every thread must call it.
__device__ __forceinline__ double block_sum(double mine) {
  constexpr int kWarp = 32;
  __shared__ double of_warp[kThreads / kWarp];
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  __syncthreads();  // all have read the last sum
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = mine;
  __syncthreads();
  double total = 0;
#pragma unroll
  for (int w = 0; w < kThreads / kWarp; ++w) total += of_warp[w];
  return total;
}

/// Σ of `count` numbers by the whole block.
__device__ __forceinline__ double block_sum_of(const double* parts, std::int64_t count) {
  double mine = 0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) mine += parts[i];
  return block_sum(mine);
}
#endif

}  // namespace sadam::kernels::cuda
