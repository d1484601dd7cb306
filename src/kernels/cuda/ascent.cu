// The way uphill: its length, and the move along it.
#include "kernels/ascent.h"
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/sums.cuh"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct AscentLengthArguments {
  bool adaptive;
  double* parts;  ///< one for each chunk
  Batch<AscentSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    ascent_length_kernel(const __grid_constant__ AscentLengthArguments<T> arguments) {
  using M = ScalarMath<T>;
  const auto stretch = AscentStretch<M>::from(arguments.adaptive);
  for_each_chunk(arguments.batch,
                 [&](const AscentSegment<T>& segment, std::uint64_t chunk, std::uint64_t part) {
                   // SAM does not ask for the weights, so they are not read.
                   const T* const base = arguments.adaptive ? segment.base : segment.gradient;
                   const Arrays<T, 2, 0> arrays = {{base, segment.gradient}, {}};
                   double sum = 0;
                   for_each_element(arrays, segment.count, chunk, [&](const T(&in)[2], T(&)[1]) {
                     const auto value = static_cast<double>(stretched<M>(stretch, in[0], in[1]));
                     sum = ScalarMath<double>::fma(value, value, sum);
                   });
                   const double total = block_sum(sum);
                   if (threadIdx.x == 0) arguments.parts[part] = total;
                 });
}

template <class T>
struct AscendArguments {
  bool adaptive;
  double radius;
  const double* squared_length;
  Batch<AscentSegment<T>> batch;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    ascend_kernel(const __grid_constant__ AscendArguments<T> arguments) {
  using M = ScalarMath<T>;
  const auto stretch = AscentStretch<M>::from(arguments.adaptive);
  const T step = M::set(ascent_step(arguments.radius, *arguments.squared_length));
  for_each_chunk(arguments.batch, [&](const AscentSegment<T>& segment, std::uint64_t chunk, std::uint64_t) {
    const Arrays<T, 2, 1> arrays = {{segment.base, segment.gradient}, {segment.out}};
    for_each_element(arrays, segment.count, chunk,
                     [&](const T(&in)[2], T(&out)[1]) { out[0] = ascended<M>(stretch, step, in[0], in[1]); });
  });
}

struct AscentChunks {
  template <class Segment>
  std::uint64_t operator()(const Segment& segment) const {
    return element_chunks(segment.count);
  }
};

}  // namespace

template <class T>
std::int64_t ascent_scratch(const Ascent<T>& launch) {
  return total_chunks(launch.segments, AscentChunks());
}

template <class T>
void ascent_length(const Ascent<T>& launch) {
  for_each_batch(launch.segments, AscentChunks(), [&](const auto& batch, std::uint64_t before) {
    if (batch.chunks() == 0) return;
    start("ascent_length", ascent_length_kernel<T>, grid_for(batch.chunks()),
          {launch.adaptive, launch.scratch + before, batch}, launch.place.stream);
  });
  add_parts({launch.scratch, ascent_scratch(launch), launch.squared_length}, launch.place.stream);
}

template <class T>
void ascend(const Ascent<T>& launch) {
  for_each_batch(launch.segments, AscentChunks(), [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("ascend", ascend_kernel<T>, grid_for(batch.chunks()),
          {launch.adaptive, launch.radius, launch.squared_length, batch}, launch.place.stream);
  });
}

template std::int64_t ascent_scratch(const Ascent<float>&);
template std::int64_t ascent_scratch(const Ascent<double>&);
template void ascent_length(const Ascent<float>&);
template void ascent_length(const Ascent<double>&);
template void ascend(const Ascent<float>&);
template void ascend(const Ascent<double>&);

}  // namespace sadam::kernels::cuda
