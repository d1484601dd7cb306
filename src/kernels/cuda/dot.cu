// ⟨g, scale·z⟩, with z made on the way.
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/directions.cuh"
#include "kernels/cuda/sums.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct DotArguments {
  DirectionOfStep direction;
  double scale;
  double* parts;  ///< one for each chunk
  Batch<DotSegment<T>> batch;
};

template <class T, Distribution distribution>
__global__ void __launch_bounds__(kThreads) dot_kernel(const __grid_constant__ DotArguments<T> arguments) {
  const auto key = arguments.direction.key();
  for_each_chunk(arguments.batch, [&](const DotSegment<T>& segment, std::uint64_t chunk, std::uint64_t part) {
    const T* const gradient = segment.gradient;
    double sum = 0;
    for_each_in_direction<T, distribution>(
        key, segment, chunk, [&](std::int64_t i) { return gradient[i]; },
        [&](std::int64_t, T g, T z) {
          sum = ScalarMath<double>::fma(static_cast<double>(g), static_cast<double>(z), sum);
        });
    const double total = block_sum(sum);
    if (threadIdx.x == 0) arguments.parts[part] = scale_of(arguments, segment) * total;
  });
}

}  // namespace

template <class T>
std::int64_t dot_scratch(const Dot<T>& launch) {
  return total_chunks(launch.segments, DirectionChunks());
}

template <class T>
void dot(const Dot<T>& launch) {
  const auto kernel = launch.distribution == Distribution::normal ? dot_kernel<T, Distribution::normal>
                                                                  : dot_kernel<T, Distribution::rademacher>;
  for_each_batch(launch.segments, DirectionChunks(), [&](const auto& batch, std::uint64_t before) {
    if (batch.chunks() == 0) return;
    start("dot", kernel, grid_for(batch.chunks()),
          {launch.direction, launch.scale, launch.scratch + before, batch}, launch.place.stream);
  });
  add_parts({launch.scratch, dot_scratch(launch), launch.out}, launch.place.stream);
}

template std::int64_t dot_scratch(const Dot<float>&);
template std::int64_t dot_scratch(const Dot<double>&);
template void dot(const Dot<float>&);
template void dot(const Dot<double>&);

}  // namespace sadam::kernels::cuda
