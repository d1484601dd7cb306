// How a kernel is started, and what is said when the driver refuses.
#pragma once

#include <cuda_runtime_api.h>
#include <sadam/error.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/cuda/kernels.h"

namespace sadam::kernels::cuda {

/// Threads of a block, in every kernel.
constexpr int kThreads = 256;

/// Kernels walk over their work in strides of the grid, so that any amount fits below the limit of a grid.
inline unsigned grid_for(std::uint64_t work) {
  return static_cast<unsigned>(std::min<std::uint64_t>(work, 0x7fffffff));
}

inline void check(cudaError_t error, const char* kernel) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // it is reported here, not to whoever asks next
  const bool not_built = error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction;
  throw Error(std::string("the GPU refused the kernel '") + kernel + "' (" + cudaGetErrorString(error) +
              "): " +
              (not_built ? "build sadam for this GPU, with -DCMAKE_CUDA_ARCHITECTURES=native."
                         : "run again with CUDA_LAUNCH_BLOCKING=1 to see whether an earlier one failed."));
}

template <class Type>
struct AsGiven {
  using type = Type;
};

/// kernel<<<blocks, kThreads, 0, stream>>>(arguments), checked. (The error is the launch's own: asking for
/// the last one would also find those that others left behind.)
template <class Arguments>
void start(const char* name, void (*kernel)(Arguments), unsigned blocks,
           const typename AsGiven<Arguments>::type& arguments, Stream stream) {
  static_assert(sizeof(Arguments) <= 4096, "the arguments of a kernel may take 4 KB");
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kThreads), pointers, 0,
                         stream),
        name);
}

}  // namespace sadam::kernels::cuda
