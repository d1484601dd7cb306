// ⟨g, scale·z⟩, with z made on the way.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dot.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/direction_tiles.h"
#include "kernels/cpu/kernels.h"

SADAM_BEGIN_FORMULAS

template <class T>
struct DotStep {
  StepSum sum;

  HWY_INLINE void operator()(const std::array<const T*, 2>& in, const std::array<T*, 0>&, std::size_t) {
    sum.add_product(in[0], in[1]);
  }
};

template <class T>
HWY_INLINE double dot_chunk(const Dot<T>& launch, const Chunk& chunk) {
  const auto& segment = launch.segments[chunk.segment];
  const T* const gradient = segment.gradient + chunk.begin;
  DotStep<T> step = {StepSum::zero()};
  const auto use = [&](const T* z, std::size_t begin, std::size_t size) HWY_ATTR {
    for_each_step<T, 2, 0>({gradient + begin, z}, {}, size, step);
  };
  for_each_run<T>(launch.direction.key(), launch.distribution, segment.first + chunk.begin,
                  chunk.end - chunk.begin, use);
  return scale_of(launch, segment) * step.sum.total();
}

SADAM_NAME_LOOP(dot_chunk, Dot)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(dot_chunk, Dot)

template <class T>
void dot(const Dot<T>& launch) {
  *launch.out += cut(launch.segments).template sum<double>(launch.place.threads, [&](const Chunk& chunk) {
    return best_dot_chunk(launch, chunk);
  });
}
template void dot(const Dot<float>&);
template void dot(const Dot<double>&);

}  // namespace sadam::kernels
#endif
