// How many elements are NaN or infinite: those whose exponent bits are all ones.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/count_non_finite.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct CountStep {
  using M = StepMath<T>;
  typename M::U count;

  template <std::size_t Streams>
  HWY_INLINE void operator()(const std::array<const T*, Streams>& in, const std::array<T*, 0>&, std::size_t) {
    const StepTag<T> d;
    const typename M::Bits du;
    const auto exponent = M::bits(M::set(std::numeric_limits<double>::infinity()));
    for (const T* from : in) {
      for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
        const auto bits = M::bits(hn::LoadU(d, from + l)) & exponent;
        count = count - hn::VecFromMask(du, bits == exponent);  // a true lane is −1
      }
    }
  }
};

template <class T>
HWY_INLINE std::int64_t count_chunk(const CountNonFinite<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  CountStep<T> step = {StepMath<T>::set_bits(0)};
  // Read as four streams: the machine fetches ahead in each, where one alone leaves it waiting for memory.
  const T* const data = segment.data + chunk.begin;
  const std::size_t count = chunk.end - chunk.begin;
  const std::size_t quarter = count / 4 / kStep * kStep;
  for_each_step<T, 4, 0>({data, data + quarter, data + 2 * quarter, data + 3 * quarter}, {}, quarter, step);
  for_each_step<T, 1, 0>({data + 4 * quarter}, {}, count - 4 * quarter, step);
  const typename StepMath<T>::Bits du;
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(du, step.count)));
}

SADAM_NAME_LOOP(count_chunk, CountNonFinite)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(count_chunk, CountNonFinite)

template <class T>
void count_non_finite(const CountNonFinite<T>& launch) {
  *launch.out +=
      cut(launch.segments).template sum<std::int64_t>(launch.place.threads, [&](const Chunk& chunk) {
        return best_count_chunk(launch, chunk);
      });
}
template void count_non_finite(const CountNonFinite<float>&);
template void count_non_finite(const CountNonFinite<double>&);

}  // namespace sadam::kernels
#endif
