// The Prox-SGD update: a heavy-ball step, then the soft threshold.
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/soft_threshold.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct ProxSgdArguments {
  const std::int64_t* skip;
  Batch<ProxSgdSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    prox_sgd_kernel(const __grid_constant__ ProxSgdArguments<T> arguments) {
  using M = ScalarMath<T>;
  if (arguments.skip != nullptr && *arguments.skip != 0) return;
  for_each_chunk(arguments.batch, [&](const ProxSgdSegment<T>& segment, std::uint64_t chunk, std::uint64_t) {
    const double rate = segment.rule->lr;
    const T lr = M::set(rate);
    const T momentum = M::set(segment.rule->momentum);
    const T threshold = M::set(rate * segment.rule->l1);
    const Arrays<T, 3, 2> arrays = {{segment.w, segment.buffer, segment.gradient},
                                    {segment.w, segment.buffer}};
    for_each_element(arrays, segment.count, chunk, [&](const T(&in)[3], T(&out)[2]) {
      const T buffer = M::fma(momentum, in[1], in[2]);
      out[0] = soft_threshold<M>(M::neg_fma(lr, buffer, in[0]), threshold);
      out[1] = buffer;
    });
  });
}

}  // namespace

template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch) {
  const auto chunks_of = [](const ProxSgdSegment<T>& segment) { return element_chunks(segment.count); };
  for_each_batch(launch.segments, chunks_of, [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("prox_sgd_update", prox_sgd_kernel<T>, grid_for(batch.chunks()), {launch.skip, batch},
          launch.place.stream);
  });
}

template void prox_sgd_update(const ProxSgdUpdate<float>&);
template void prox_sgd_update(const ProxSgdUpdate<double>&);

}  // namespace sadam::kernels::cuda
