// A probe along the step Adam is about to take.
#include "kernels/adamw.h"
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/sums.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct AdamProbeArguments {
  double* parts;  ///< one for each chunk
  Batch<AdamProbeSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    adam_probe_kernel(const __grid_constant__ AdamProbeArguments<T> arguments) {
  using M = ScalarMath<T>;
  for_each_chunk(arguments.batch, [&](const AdamProbeSegment<T>& segment, std::uint64_t chunk,
                                      std::uint64_t part) {
    const auto scalars = AdamScalars<M>::from(*segment.coefficients);
    const Arrays<T, 4, 1> arrays = {{segment.base, segment.m, segment.v, segment.gradient}, {segment.out}};
    double sum = 0;  // of −⟨g, Δ⟩
    for_each_element(arrays, segment.count, chunk, [&](const T(&in)[4], T(&out)[1]) {
      const T step = adam_step<M>(scalars, adam_moments<M>(scalars, in[1], in[2], in[3]));
      out[0] = in[0] - step;
      sum = ScalarMath<double>::fma(static_cast<double>(in[3]), static_cast<double>(step), sum);
    });
    const double total = block_sum(sum);
    if (threadIdx.x == 0) arguments.parts[part] = -total;
  });
}

struct AdamProbeChunks {
  template <class Segment>
  std::uint64_t operator()(const Segment& segment) const {
    return element_chunks(segment.count);
  }
};

}  // namespace

template <class T>
std::int64_t adam_probe_scratch(const AdamProbe<T>& launch) {
  return total_chunks(launch.segments, AdamProbeChunks());
}

template <class T>
void adam_probe(const AdamProbe<T>& launch) {
  for_each_batch(launch.segments, AdamProbeChunks(), [&](const auto& batch, std::uint64_t before) {
    if (batch.chunks() == 0) return;
    start("adam_probe", adam_probe_kernel<T>, grid_for(batch.chunks()), {launch.scratch + before, batch},
          launch.place.stream);
  });
  add_parts({launch.scratch, adam_probe_scratch(launch), launch.slope}, launch.place.stream);
}

template std::int64_t adam_probe_scratch(const AdamProbe<float>&);
template std::int64_t adam_probe_scratch(const AdamProbe<double>&);
template void adam_probe(const AdamProbe<float>&);
template void adam_probe(const AdamProbe<double>&);

}  // namespace sadam::kernels::cuda
