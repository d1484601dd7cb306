// The fused AdamW update.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adam_update.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/adamw.h"
#include "kernels/cpu/both_types.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

SADAM_BEGIN_FORMULAS

template <class T, bool bounded>
struct AdamUpdateStep {
  using M = StepMath<T>;
  AdamScalars<M> scalars;
  AdamBounds<M> bounds;

  /// in: w, m, v, gradient; out: w, m, v.
  HWY_INLINE void operator()(const std::array<const T*, 4>& in, const std::array<T*, 3>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto w = hn::LoadU(d, in[0] + l);
      const auto next =
          adam_moments<M>(scalars, hn::LoadU(d, in[1] + l), hn::LoadU(d, in[2] + l), hn::LoadU(d, in[3] + l));
      if constexpr (bounded)
        hn::StoreU(scalars.decay * w - bounded_adam_step<M>(scalars, bounds, next), d, out[0] + l);
      else
        hn::StoreU(scalars.decay * w - adam_step<M>(scalars, next), d, out[0] + l);
      hn::StoreU(next.m, d, out[1] + l);
      hn::StoreU(next.v, d, out[2] + l);
    }
  }
};

template <class T, bool bounded>
HWY_INLINE void adam_update_elements(const AdamUpdate<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  T* const w = segment.w + chunk.begin;
  T* const m = segment.m + chunk.begin;
  T* const v = segment.v + chunk.begin;
  const AdamUpdateStep<T, bounded> step = {AdamScalars<StepMath<T>>::from(*segment.coefficients),
                                           AdamBounds<StepMath<T>>::from(*segment.coefficients)};
  for_each_step<T, 4, 3>({w, m, v, segment.gradient + chunk.begin}, {w, m, v}, chunk.end - chunk.begin, step);
}

template <class T>
HWY_INLINE void adam_update_chunk(const AdamUpdate<T>& launch, const Chunk& chunk) {
  if (launch.segments[chunk.segment].coefficients->is_bounded())
    adam_update_elements<T, true>(launch, chunk);
  else
    adam_update_elements<T, false>(launch, chunk);
}

SADAM_NAME_LOOP(adam_update_chunk, AdamUpdate)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(adam_update_chunk, AdamUpdate)

template <class T>
void adam_update(const AdamUpdate<T>& launch) {
  if (launch.skip != nullptr && *launch.skip != 0) return;
  cut(launch.segments).for_each(launch.place.threads, [&](std::size_t, const Chunk& chunk) {
    best_adam_update_chunk(launch, chunk);
  });
}
template void adam_update(const AdamUpdate<float>&);
template void adam_update(const AdamUpdate<double>&);

}  // namespace sadam::kernels
#endif
