// Fake quantization of a tensor: a pass for max|x|, and a pass for the rounding.
#include "nn/kernels/fake_quantize.h"

#include "kernels/cuda/elements.cuh"
#include "nn/kernels/kernels.h"

namespace sadam::kernels::cuda {
namespace {

__device__ __forceinline__ void raise(std::uint32_t* to, std::uint32_t value) { atomicMax(to, value); }
__device__ __forceinline__ void raise(std::uint64_t* to, std::uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Magnitudes are compared as integers: without their sign bit, floats are in the order of their bits, and
/// every NaN comes after infinity. So none is lost, and the order of the comparisons does not matter.
template <class T>
__global__ void __launch_bounds__(kThreads)
    absolute_maximum_kernel(const __grid_constant__ AbsoluteMaximum<T> launch) {
  using M = ScalarMath<T>;
  using U = typename M::U;
  __shared__ U of_block;
  if (threadIdx.x == 0) of_block = 0;
  const Arrays<T, 1, 0> arrays = {{launch.data}, {}};
  U mine = 0;
  for (std::uint64_t chunk = blockIdx.x; chunk * kElementChunk < static_cast<std::uint64_t>(launch.count);
       chunk += gridDim.x) {
    for_each_element(arrays, launch.count, chunk, [&](const T(&in)[1], T(&)[1]) {
      const U bits = M::bits(M::abs(in[0]));
      mine = bits > mine ? bits : mine;
    });
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const U other = __shfl_down_sync(0xffffffffu, mine, step);
    mine = other > mine ? other : mine;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) raise(&of_block, mine);
  __syncthreads();
  if (threadIdx.x == 0 && of_block > 0) raise(reinterpret_cast<U*>(launch.out), of_block);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fake_quantize_kernel(const __grid_constant__ FakeQuantize<T> launch) {
  using M = ScalarMath<T>;
  const auto scalars = QuantizeScalars<M>::from(launch.levels, *launch.maximum);
  const Arrays<T, 1, 1> arrays = {{launch.in}, {launch.out}};
  for (std::uint64_t chunk = blockIdx.x; chunk * kElementChunk < static_cast<std::uint64_t>(launch.count);
       chunk += gridDim.x) {
    for_each_element(arrays, launch.count, chunk,
                     [&](const T(&in)[1], T(&out)[1]) { out[0] = fake_quantize_element<M>(scalars, in[0]); });
  }
}

}  // namespace

template <class T>
void absolute_maximum(const AbsoluteMaximum<T>& launch) {
  check(cudaMemsetAsync(launch.out, 0, sizeof(T), launch.stream), "absolute_maximum");
  const std::uint64_t chunks = element_chunks(launch.count);
  // All blocks raise one number, so there are no more of them than keep the GPU busy.
  if (chunks > 0)
    start("absolute_maximum", absolute_maximum_kernel<T>, grid_for(std::min<std::uint64_t>(chunks, 1024)),
          launch, launch.stream);
}

template <class T>
void fake_quantize(const FakeQuantize<T>& launch) {
  const std::uint64_t chunks = element_chunks(launch.count);
  if (chunks > 0) start("fake_quantize", fake_quantize_kernel<T>, grid_for(chunks), launch, launch.stream);
}

template void absolute_maximum(const AbsoluteMaximum<float>&);
template void absolute_maximum(const AbsoluteMaximum<double>&);
template void fake_quantize(const FakeQuantize<float>&);
template void fake_quantize(const FakeQuantize<double>&);

}  // namespace sadam::kernels::cuda
