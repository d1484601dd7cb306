// The elements of a direction, written out.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/generate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/direction_tiles.h"
#include "kernels/kernels.h"

SADAM_BEGIN_FORMULAS

template <class T>
HWY_INLINE void generate_elements(const Generate<T>& launch) {
  auto blocks = TileBlocks::from(launch.key);
  fill_direction(blocks, launch.distribution, launch.first, static_cast<std::size_t>(launch.count),
                 launch.out);
}

void generate_float(const Generate<float>& launch) { generate_elements(launch); }
void generate_double(const Generate<double>& launch) { generate_elements(launch); }

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

HWY_EXPORT(generate_float);
HWY_EXPORT(generate_double);

template <>
void generate(const Generate<float>& launch) {
  HWY_DYNAMIC_DISPATCH(generate_float)(launch);
}

template <>
void generate(const Generate<double>& launch) {
  HWY_DYNAMIC_DISPATCH(generate_double)(launch);
}

}  // namespace sadam::kernels
#endif
