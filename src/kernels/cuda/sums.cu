#include "kernels/cuda/sums.cuh"

namespace sadam::kernels::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) add_parts_kernel(const __grid_constant__ AddParts sum) {
  const double total = block_sum_of(sum.parts, sum.count);
  if (threadIdx.x == 0) *sum.out += total;
}

}  // namespace

void add_parts(const AddParts& sum, Stream stream) {
  if (sum.count > 0) start("add_parts", add_parts_kernel, 1, sum, stream);
}

}  // namespace sadam::kernels::cuda
