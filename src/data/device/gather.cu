// The gather kernel: a thread for each number of an image, the images of a batch along y.
#include <algorithm>

#include "data/device/gather.h"
#include "data/device/gather_element.h"
#include "kernels/cuda/launch.cuh"

namespace sadam::data::device {
namespace {

constexpr unsigned kThreads = kernels::cuda::kThreads;
constexpr std::int64_t kLargestGridY = 65535;

__global__ void __launch_bounds__(kThreads) gather_kernel(const __grid_constant__ Gather launch) {
  const std::int32_t elements = image_elements(launch);
  const auto element = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (element >= elements) return;
  for (std::int64_t i = blockIdx.y; i < launch.count; i += gridDim.y) {
    const std::int64_t source = source_of(launch, i);
    launch.images[i * elements + element] = gathered_element(launch, source, element);
    if (element == 0) launch.labels[i] = launch.stored_labels[source];
  }
}

}  // namespace

void gather(const Gather& launch) {
  if (launch.count <= 0) return;  // an empty grid is refused
  const auto blocks = (static_cast<unsigned>(image_elements(launch)) + kThreads - 1) / kThreads;
  const dim3 grid(blocks, static_cast<unsigned>(std::min(launch.count, kLargestGridY)));
  void* arguments[] = {const_cast<Gather*>(&launch)};
  kernels::cuda::check(cudaLaunchKernel(reinterpret_cast<const void*>(gather_kernel), grid, dim3(kThreads),
                                        arguments, 0, launch.stream),
                       "gather");
}

}  // namespace sadam::data::device
