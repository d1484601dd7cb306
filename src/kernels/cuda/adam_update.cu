// The fused AdamW update.
#include "kernels/adamw.h"
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/elements.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct AdamUpdateArguments {
  const std::int64_t* skip;
  Batch<AdamSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    adam_update_kernel(const __grid_constant__ AdamUpdateArguments<T> arguments) {
  using M = ScalarMath<T>;
  if (arguments.skip != nullptr && *arguments.skip != 0) return;
  for_each_chunk(arguments.batch, [&](const AdamSegment<T>& segment, std::uint64_t chunk, std::uint64_t) {
    const auto scalars = AdamScalars<M>::from(*segment.coefficients);
    const Arrays<T, 4, 3> arrays = {{segment.w, segment.m, segment.v, segment.gradient},
                                    {segment.w, segment.m, segment.v}};
    const auto bounds = AdamBounds<M>::from(*segment.coefficients);
    const bool bounded = segment.coefficients->is_bounded();
    for_each_element(arrays, segment.count, chunk, [&](const T(&in)[4], T(&out)[3]) {
      const auto next = adam_moments<M>(scalars, in[1], in[2], in[3]);
      // The same for all threads; a loop of its own for each would take half as many registers again.
      const T step = bounded ? bounded_adam_step<M>(scalars, bounds, next) : adam_step<M>(scalars, next);
      out[0] = scalars.decay * in[0] - step;
      out[1] = next.m;
      out[2] = next.v;
    });
  });
}

}  // namespace

template <class T>
void adam_update(const AdamUpdate<T>& launch) {
  const auto chunks_of = [](const AdamSegment<T>& segment) { return element_chunks(segment.count); };
  for_each_batch(launch.segments, chunks_of, [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("adam_update", adam_update_kernel<T>, grid_for(batch.chunks()), {launch.skip, batch},
          launch.place.stream);
  });
}

template void adam_update(const AdamUpdate<float>&);
template void adam_update(const AdamUpdate<double>&);

}  // namespace sadam::kernels::cuda
