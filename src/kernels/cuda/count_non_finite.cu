// How many elements are NaN or infinite: those whose exponent bits are all ones.
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/elements.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct CountArguments {
  std::int64_t* out;
  Batch<ConstSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    count_non_finite_kernel(const __grid_constant__ CountArguments<T> arguments) {
  using M = ScalarMath<T>;
  using U = typename M::U;
  constexpr U kExponent = sizeof(T) == sizeof(float) ? U{0x7F800000u} : static_cast<U>(0x7FF0000000000000u);
  unsigned mine = 0;
  for_each_chunk(arguments.batch, [&](const ConstSegment<T>& segment, std::uint64_t chunk, std::uint64_t) {
    const Arrays<T, 1, 0> arrays = {{segment.data}, {}};
    for_each_element(arrays, segment.count, chunk, [&](const T(&in)[1], T(&)[1]) {
      mine += (M::bits(in[0]) & kExponent) == kExponent ? 1u : 0u;
    });
  });
  // Whole numbers: their order does not matter.
#pragma unroll
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if (threadIdx.x % 32 == 0 && mine > 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(arguments.out), static_cast<unsigned long long>(mine));
}

}  // namespace

template <class T>
void count_non_finite(const CountNonFinite<T>& launch) {
  const auto chunks_of = [](const ConstSegment<T>& segment) { return element_chunks(segment.count); };
  for_each_batch(launch.segments, chunks_of, [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("count_non_finite", count_non_finite_kernel<T>, grid_for(batch.chunks()), {launch.out, batch},
          launch.place.stream);
  });
}

template void count_non_finite(const CountNonFinite<float>&);
template void count_non_finite(const CountNonFinite<double>&);

}  // namespace sadam::kernels::cuda
