// out = base + scale·z, with z made on the way.
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/directions.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct PerturbArguments {
  DirectionOfStep direction;
  double scale;
  Batch<PerturbSegment<T>> batch;
};

template <class T, Distribution distribution>
__global__ void __launch_bounds__(kThreads)
    perturb_kernel(const __grid_constant__ PerturbArguments<T> arguments) {
  using M = ScalarMath<T>;
  const auto key = arguments.direction.key();
  for_each_chunk(arguments.batch, [&](const PerturbSegment<T>& segment, std::uint64_t chunk, std::uint64_t) {
    const T scale = M::set(scale_of(arguments, segment));
    const T* const base = segment.base;
    T* const out = segment.out;
    for_each_in_direction<T, distribution>(
        key, segment, chunk, [&](std::int64_t i) { return base[i]; },
        [&](std::int64_t i, T from, T z) { out[i] = M::fma(scale, z, from); });
  });
}

}  // namespace

template <class T>
void perturb(const Perturb<T>& launch) {
  const auto kernel = launch.distribution == Distribution::normal
                          ? perturb_kernel<T, Distribution::normal>
                          : perturb_kernel<T, Distribution::rademacher>;
  for_each_batch(launch.segments, DirectionChunks(), [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("perturb", kernel, grid_for(batch.chunks()), {launch.direction, launch.scale, batch},
          launch.place.stream);
  });
}

template void perturb(const Perturb<float>&);
template void perturb(const Perturb<double>&);

}  // namespace sadam::kernels::cuda
