// w = w₀ + scale·z, with z made on the way.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/perturb.cpp"
#endif
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/direction_tiles.h"
#include "kernels/cpu/kernels.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct PerturbStep {
  using M = StepMath<T>;
  typename M::V scale;

  HWY_INLINE void operator()(const std::array<const T*, 2>& in, const std::array<T*, 1>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto base = hn::LoadU(d, in[0] + l);
      const auto z = hn::LoadU(d, in[1] + l);
      hn::StoreU(M::fma(scale, z, base), d, out[0] + l);
    }
  }
};

template <class T>
HWY_INLINE void perturb_chunk(const Perturb<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  const T* const base = segment.base + chunk.begin;
  T* const out = segment.out + chunk.begin;
  const std::size_t count = chunk.end - chunk.begin;
  const PerturbStep<T> step = {StepMath<T>::set(scale_of(launch, segment))};
  const auto use = [&](const T* z, std::size_t begin, std::size_t size) HWY_ATTR {
    for_each_step<T, 2, 1>({base + begin, z}, {out + begin}, size, step);
    // The next run arrives from memory while its direction is being made.
    const std::size_t end = std::min(begin + 2 * size, count);
    for (std::size_t i = begin + size; i < end; i += 64 / sizeof(T)) {
      hwy::Prefetch(base + i);
      hwy::Prefetch(out + i);
    }
  };
  for_each_run<T>(launch.direction.key(), launch.distribution, segment.first + chunk.begin,
                  chunk.end - chunk.begin, use);
}

SADAM_NAME_LOOP(perturb_chunk, Perturb)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(perturb_chunk, Perturb)

template <class T>
void perturb(const Perturb<T>& launch) {
  cut(launch.segments).for_each(launch.place.threads, [&](std::size_t, const Chunk& chunk) {
    best_perturb_chunk(launch, chunk);
  });
}
template void perturb(const Perturb<float>&);
template void perturb(const Perturb<double>&);

}  // namespace sadam::kernels
#endif
