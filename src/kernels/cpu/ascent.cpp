// The way uphill: its length, and the move along it.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/ascent.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/ascent.h"
#include "kernels/cpu/both_types.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct AscentLengthStep {
  using M = StepMath<T>;
  AscentStretch<M> stretch;
  StepSum sum;

  /// in: base, gradient.
  HWY_INLINE void operator()(const std::array<const T*, 2>& in, const std::array<T*, 0>&, std::size_t) {
    const StepTag<T> d;
    alignas(64) T values[kStep];
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d))
      hn::Store(stretched<M>(stretch, hn::LoadU(d, in[0] + l), hn::LoadU(d, in[1] + l)), d, values + l);
    sum.add_product(values, values);
  }
};

template <class T>
struct AscendStep {
  using M = StepMath<T>;
  AscentStretch<M> stretch;
  typename M::V step;

  /// in: base, gradient; out: out.
  HWY_INLINE void operator()(const std::array<const T*, 2>& in, const std::array<T*, 1>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d))
      hn::StoreU(ascended<M>(stretch, step, hn::LoadU(d, in[0] + l), hn::LoadU(d, in[1] + l)), d, out[0] + l);
  }
};

template <class T>
HWY_INLINE double ascent_length_chunk(const Ascent<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  AscentLengthStep<T> step = {AscentStretch<StepMath<T>>::from(launch.adaptive), StepSum::zero()};
  for_each_step<T, 2, 0>({segment.base + chunk.begin, segment.gradient + chunk.begin}, {},
                         chunk.end - chunk.begin, step);
  return step.sum.total();
}

template <class T>
HWY_INLINE void ascend_chunk(const Ascent<T>& launch, const Chunk& chunk) {
  using M = StepMath<T>;
  const auto& segment = launch.segments[chunk.segment];
  const AscendStep<T> step = {AscentStretch<M>::from(launch.adaptive),
                              M::set(ascent_step(launch.radius, *launch.squared_length))};
  for_each_step<T, 2, 1>({segment.base + chunk.begin, segment.gradient + chunk.begin},
                         {segment.out + chunk.begin}, chunk.end - chunk.begin, step);
}

SADAM_NAME_LOOP(ascent_length_chunk, Ascent)
SADAM_NAME_LOOP(ascend_chunk, Ascent)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(ascent_length_chunk, Ascent)
SADAM_EXPORT_LOOP(ascend_chunk, Ascent)

template <class T>
void ascent_length(const Ascent<T>& launch) {
  *launch.squared_length +=
      cut(launch.segments).template sum<double>(launch.place.threads, [&](const Chunk& chunk) {
        return best_ascent_length_chunk(launch, chunk);
      });
}
template void ascent_length(const Ascent<float>&);
template void ascent_length(const Ascent<double>&);

template <class T>
void ascend(const Ascent<T>& launch) {
  cut(launch.segments).for_each(launch.place.threads, [&](std::size_t, const Chunk& chunk) {
    best_ascend_chunk(launch, chunk);
  });
}
template void ascend(const Ascent<float>&);
template void ascend(const Ascent<double>&);

}  // namespace sadam::kernels
#endif
