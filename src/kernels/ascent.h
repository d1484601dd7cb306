// One element of the way uphill: SAM (Foret et al. 2021) and ASAM (Kwon et al. 2021).
#include "kernels/kernels.h"
#include "kernels/math.h"

#if defined(SADAM_KERNELS_ASCENT_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_ASCENT_H
#undef SADAM_KERNELS_ASCENT_H
#else
#define SADAM_KERNELS_ASCENT_H
#endif

SADAM_BEGIN_FORMULAS

/// t = slope·|w| + offset: 1 for SAM, |w| + 0.01 for ASAM, whose authors take 0.01 too.
template <class M>
struct AscentStretch {
  typename M::V slope, offset;

  SADAM_HD static AscentStretch from(bool adaptive) {
    return {M::set(adaptive ? 1 : 0), M::set(adaptive ? 0.01 : 1)};
  }
};

template <class M>
SADAM_HD typename M::V stretched(const AscentStretch<M>& stretch, typename M::V w, typename M::V g) {
  return M::fma(stretch.slope, M::abs(w), stretch.offset) * g;
}

/// w + step·t²·g.
template <class M>
SADAM_HD typename M::V ascended(const AscentStretch<M>& stretch, typename M::V step, typename M::V w,
                                typename M::V g) {
  return M::fma(step, stretched<M>(stretch, w, stretched<M>(stretch, w, g)), w);
}

/// radius/√squared_length; 0 where there is no way uphill.
SADAM_HD double ascent_step(double radius, double squared_length) {
  return squared_length == 0 ? 0 : radius / std::sqrt(squared_length);
}

SADAM_END_FORMULAS

#endif
