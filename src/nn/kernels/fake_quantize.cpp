// Fake quantization of a tensor: a pass for max|x|, and a pass for the rounding.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/kernels/fake_quantize.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/lanes.h"
#include "nn/kernels/fake_quantize.h"
#include "nn/kernels/kernels.h"

SADAM_BEGIN_FORMULAS

/// Magnitudes are compared as integers: without their sign bit, floats are in the order of their bits, and
/// every NaN comes after infinity. So none is lost, and the order of the comparisons does not matter.
template <class T>
struct MaximumStep {
  using M = StepMath<T>;
  using Integers = hn::RebindToSigned<StepTag<T>>;
  hn::Vec<Integers> maximum;

  template <std::size_t Streams>
  HWY_INLINE void operator()(const std::array<const T*, Streams>& in, const std::array<T*, 0>&, std::size_t) {
    const StepTag<T> d;
    for (const T* from : in) {
      for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
        maximum = hn::Max(maximum, hn::BitCast(Integers(), M::abs(hn::LoadU(d, from + l))));
      }
    }
  }
};

template <class T>
HWY_INLINE T maximum_chunk(const AbsoluteMaximum<T>& launch, const Chunk& chunk) {
  const typename MaximumStep<T>::Integers d;
  MaximumStep<T> step = {hn::Zero(d)};
  // Four streams, as in count_non_finite.cpp.
  const T* const data = launch.data + chunk.begin;
  const std::size_t count = chunk.end - chunk.begin;
  const std::size_t quarter = count / 4 / kStep * kStep;
  for_each_step<T, 4, 0>({data, data + quarter, data + 2 * quarter, data + 3 * quarter}, {}, quarter, step);
  for_each_step<T, 1, 0>({data + 4 * quarter}, {}, count - 4 * quarter, step);
  hn::TFromD<hn::RebindToSigned<StepTag<T>>> lanes[kStep];
  hn::StoreU(step.maximum, d, lanes);
  const auto largest = *std::max_element(lanes, lanes + hn::Lanes(d));
  T maximum;
  std::memcpy(&maximum, &largest, sizeof maximum);
  return maximum;
}

SADAM_NAME_LOOP(maximum_chunk, AbsoluteMaximum)

template <class T>
struct QuantizeStep {
  using M = StepMath<T>;
  QuantizeScalars<M> scalars;

  HWY_INLINE void operator()(const std::array<const T*, 1>& in, const std::array<T*, 1>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      hn::StoreU(fake_quantize_element<M>(scalars, hn::LoadU(d, in[0] + l)), d, out[0] + l);
    }
  }
};

template <class T>
HWY_INLINE void quantize_chunk(const FakeQuantize<T>& launch, const Chunk& chunk) {
  using M = StepMath<T>;
  const QuantizeStep<T> step = {
      QuantizeScalars<M>::from(launch.levels, hn::Set(StepTag<T>(), launch.maximum))};
  for_each_step<T, 1, 1>({launch.in + chunk.begin}, {launch.out + chunk.begin}, chunk.end - chunk.begin,
                         step);
}

SADAM_NAME_LOOP(quantize_chunk, FakeQuantize)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(maximum_chunk, AbsoluteMaximum)
SADAM_EXPORT_LOOP(quantize_chunk, FakeQuantize)

namespace {

Chunks cut_one(std::int64_t count) {
  Chunks chunks;
  chunks.add(0, static_cast<std::uint64_t>(count));
  return chunks;
}

}  // namespace

template <class T>
T absolute_maximum(const AbsoluteMaximum<T>& launch) {
  std::vector<T> parts(static_cast<std::size_t>(launch.count) / kChunk + 1, T{0});
  cut_one(launch.count).for_each(launch.threads, [&](std::size_t index, const Chunk& chunk) {
    parts[index] = best_maximum_chunk(launch, chunk);
  });
  T maximum = 0;
  for (const T part : parts) {
    if (std::isnan(part)) return part;
    maximum = std::max(maximum, part);
  }
  return maximum;
}
template float absolute_maximum(const AbsoluteMaximum<float>&);
template double absolute_maximum(const AbsoluteMaximum<double>&);

template <class T>
void fake_quantize(const FakeQuantize<T>& launch) {
  cut_one(launch.count).for_each(launch.threads, [&](std::size_t, const Chunk& chunk) {
    best_quantize_chunk(launch, chunk);
  });
}
template void fake_quantize(const FakeQuantize<float>&);
template void fake_quantize(const FakeQuantize<double>&);

}  // namespace sadam::kernels
#endif
