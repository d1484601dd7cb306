// The Prox-SGD update: a heavy-ball step, then the soft threshold.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/prox_sgd_update.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"
#include "kernels/soft_threshold.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct ProxSgdStep {
  using M = StepMath<T>;
  typename M::V momentum, lr, threshold;

  /// in: w, buffer, gradient; out: w, buffer.
  HWY_INLINE void operator()(const std::array<const T*, 3>& in, const std::array<T*, 2>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto buffer = M::fma(momentum, hn::LoadU(d, in[1] + l), hn::LoadU(d, in[2] + l));
      const auto moved = M::neg_fma(lr, buffer, hn::LoadU(d, in[0] + l));
      hn::StoreU(soft_threshold<M>(moved, threshold), d, out[0] + l);
      hn::StoreU(buffer, d, out[1] + l);
    }
  }
};

template <class T>
HWY_INLINE void prox_sgd_chunk(const ProxSgdUpdate<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  using M = StepMath<T>;
  T* const w = segment.w + chunk.begin;
  T* const buffer = segment.buffer + chunk.begin;
  const GroupRule& rule = *segment.rule;
  const ProxSgdStep<T> step = {M::set(rule.momentum), M::set(rule.lr), M::set(rule.lr * rule.l1)};
  for_each_step<T, 3, 2>({w, buffer, segment.gradient + chunk.begin}, {w, buffer}, chunk.end - chunk.begin,
                         step);
}

SADAM_NAME_LOOP(prox_sgd_chunk, ProxSgdUpdate)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(prox_sgd_chunk, ProxSgdUpdate)

template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch) {
  if (launch.skip != nullptr && *launch.skip != 0) return;
  cut(launch.segments).for_each(launch.place.threads, [&](std::size_t, const Chunk& chunk) {
    best_prox_sgd_chunk(launch, chunk);
  });
}
template void prox_sgd_update(const ProxSgdUpdate<float>&);
template void prox_sgd_update(const ProxSgdUpdate<double>&);

}  // namespace sadam::kernels
#endif
