// A probe along the step Adam is about to take.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adam_probe.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/adamw.h"
#include "kernels/cpu/both_types.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct AdamProbeStep {
  using M = StepMath<T>;
  AdamScalars<M> scalars;
  StepSum sum;

  /// in: base, m, v, gradient; out: out.
  HWY_INLINE void operator()(const std::array<const T*, 4>& in, const std::array<T*, 1>& out,
                             std::size_t valid) {
    const StepTag<T> d;
    alignas(64) T steps[kStep];  // −Δ
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto next =
          adam_moments<M>(scalars, hn::LoadU(d, in[1] + l), hn::LoadU(d, in[2] + l), hn::LoadU(d, in[3] + l));
      const auto step = adam_step<M>(scalars, next);
      hn::StoreU(hn::LoadU(d, in[0] + l) - step, d, out[0] + l);
      hn::Store(step, d, steps + l);
    }
    // Padding has v = 0: with ε = 0 its step is 0/0 and must not reach the sum.
    if (valid < kStep) std::fill(steps + valid, steps + kStep, T{0});
    sum.add_product(in[3], steps);
  }
};

template <class T>
HWY_INLINE double adam_probe_chunk(const AdamProbe<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  const std::size_t begin = chunk.begin;
  AdamProbeStep<T> step = {AdamScalars<StepMath<T>>::from(*segment.coefficients), StepSum::zero()};
  for_each_step<T, 4, 1>(
      {segment.base + begin, segment.m + begin, segment.v + begin, segment.gradient + begin},
      {segment.out + begin}, chunk.end - begin, step);
  return -step.sum.total();
}

SADAM_NAME_LOOP(adam_probe_chunk, AdamProbe)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(adam_probe_chunk, AdamProbe)

template <class T>
void adam_probe(const AdamProbe<T>& launch) {
  *launch.slope += cut(launch.segments).template sum<double>(launch.place.threads, [&](const Chunk& chunk) {
    return best_adam_probe_chunk(launch, chunk);
  });
}
template void adam_probe(const AdamProbe<float>&);
template void adam_probe(const AdamProbe<double>&);

}  // namespace sadam::kernels
#endif
