// How many elements are NaN or infinite: those whose exponent bits are all ones.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/count_non_finite.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct CountStep {
  using M = StepMath<T>;
  typename M::U count;

  HWY_INLINE void operator()(const std::array<const T*, 1>& in, const std::array<T*, 0>&, std::size_t) {
    const StepTag<T> d;
    const typename M::Bits du;
    const auto exponent = M::bits(M::set(std::numeric_limits<double>::infinity()));
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto bits = M::bits(hn::LoadU(d, in[0] + l)) & exponent;
      count = count - hn::VecFromMask(du, bits == exponent);  // a true lane is −1
    }
  }
};

template <class T>
HWY_INLINE std::int64_t count_chunk(const CountNonFinite<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  CountStep<T> step = {StepMath<T>::set_bits(0)};
  for_each_step<T, 1, 0>({segment.data + chunk.begin}, {}, chunk.end - chunk.begin, step);
  const typename StepMath<T>::Bits du;
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(du, step.count)));
}

std::int64_t count_float(const CountNonFinite<float>& launch, const Chunk& chunk) {
  return count_chunk(launch, chunk);
}
std::int64_t count_double(const CountNonFinite<double>& launch, const Chunk& chunk) {
  return count_chunk(launch, chunk);
}

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

HWY_EXPORT(count_float);
HWY_EXPORT(count_double);

template <>
std::int64_t count_non_finite(const CountNonFinite<float>& launch) {
  return cut(launch.segments).sum<std::int64_t>(launch.threads, [&](const Chunk& chunk) {
    return HWY_DYNAMIC_DISPATCH(count_float)(launch, chunk);
  });
}

template <>
std::int64_t count_non_finite(const CountNonFinite<double>& launch) {
  return cut(launch.segments).sum<std::int64_t>(launch.threads, [&](const Chunk& chunk) {
    return HWY_DYNAMIC_DISPATCH(count_double)(launch, chunk);
  });
}

}  // namespace sadam::kernels
#endif
