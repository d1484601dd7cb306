// One element of the AdamW update (Loshchilov and Hutter), with the brake already inside the step size.
#include "kernels/kernels.h"
#include "kernels/math.h"

#if defined(SADAM_KERNELS_ADAMW_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_ADAMW_H
#undef SADAM_KERNELS_ADAMW_H
#else
#define SADAM_KERNELS_ADAMW_H
#endif

SADAM_BEGIN_FORMULAS

/// AdamCoefficients rounded to T, once for all elements. 1 − β is formed in double: in float, 1 − 0.999f is
/// off by 5e-5.
template <class M>
struct AdamScalars {
  typename M::V beta1, rest1, beta2, rest2, eps, root_scale, step_size, decay;

  SADAM_HD static AdamScalars from(const AdamCoefficients& c) {
    return {M::set(c.beta1), M::set(1 - c.beta1),  M::set(c.beta2),     M::set(1 - c.beta2),
            M::set(c.eps),   M::set(c.root_scale), M::set(c.step_size), M::set(c.decay)};
  }
};

template <class M>
struct AdamMoments {
  typename M::V m, v;
};

template <class M>
SADAM_HD AdamMoments<M> adam_moments(const AdamScalars<M>& s, typename M::V m, typename M::V v,
                                     typename M::V g) {
  return {M::fma(s.beta1, m, s.rest1 * g), M::fma(s.beta2, v, s.rest2 * (g * g))};
}

/// step_size·m'/(root_scale·√v' + ε): what the update subtracts.
template <class M>
SADAM_HD typename M::V adam_step(const AdamScalars<M>& s, const AdamMoments<M>& next) {
  return s.step_size * next.m / M::fma(s.root_scale, M::sqrt(next.v), s.eps);
}

/// The bounds rounded to T, once for all elements.
template <class M>
struct AdamBounds {
  typename M::V lower, upper;

  SADAM_HD static AdamBounds from(const AdamCoefficients& c) {
    return {M::set(c.lower_bound), M::set(c.upper_bound)};
  }
};

/// The same with step_size/(root_scale·√v' + ε) between bounds: AdaBound (Luo et al. 2019).
template <class M>
SADAM_HD typename M::V bounded_adam_step(const AdamScalars<M>& s, const AdamBounds<M>& bounds,
                                         const AdamMoments<M>& next) {
  const auto free = s.step_size / M::fma(s.root_scale, M::sqrt(next.v), s.eps);
  const auto below = M::select_le(free, bounds.upper, free, bounds.upper);
  return M::max(below, bounds.lower) * next.m;
}

SADAM_END_FORMULAS

#endif
