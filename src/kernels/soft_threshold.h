// The proximal map of τ|x|: sign(x)·max(|x| − τ, 0). What falls within the threshold is +0; a NaN stays a NaN
// (a plain max would turn it into 0 on some machines, and hide it).
#include "kernels/math.h"

#if defined(SADAM_KERNELS_SOFT_THRESHOLD_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_SOFT_THRESHOLD_H
#undef SADAM_KERNELS_SOFT_THRESHOLD_H
#else
#define SADAM_KERNELS_SOFT_THRESHOLD_H
#endif

SADAM_BEGIN_FORMULAS

template <class M>
SADAM_HD typename M::V soft_threshold(typename M::V x, typename M::V threshold) {
  const auto magnitude = M::abs(x);
  return M::select_le(magnitude, threshold, M::set(0), M::copy_sign(magnitude - threshold, x));
}

SADAM_END_FORMULAS

#endif
