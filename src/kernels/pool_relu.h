// One window of a 2×2 max-pool with ReLU after it.
#include "kernels/math.h"

#if defined(SADAM_KERNELS_POOL_RELU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_POOL_RELU_H
#undef SADAM_KERNELS_POOL_RELU_H
#else
#define SADAM_KERNELS_POOL_RELU_H
#endif

SADAM_BEGIN_FORMULAS

/// The larger of two; NaN if one of them is.
template <class M>
SADAM_HD typename M::V larger(typename M::V a, typename M::V b) {
  const auto without_nan_in_a = M::select_le(b, a, a, b);
  return M::select_le(a, a, without_nan_in_a, a);
}

/// The four elements of a window, row by row.
template <class M>
struct Window {
  typename M::V a, b, c, d;
};

template <class M>
SADAM_HD typename M::V window_maximum(const Window<M>& x) {
  return larger<M>(larger<M>(x.a, x.b), larger<M>(x.c, x.d));
}

template <class M>
SADAM_HD typename M::V pool_relu_element(const Window<M>& x) {
  const auto maximum = window_maximum<M>(x);
  return M::select_le(maximum, M::set(0), M::set(0), maximum);
}

/// Hands the gradient to the first of the largest elements, if that is above zero. (A NaN in the window: to
/// the last.)
template <class M>
SADAM_HD Window<M> pool_relu_element_gradient(const Window<M>& x, typename M::V gradient) {
  const auto zero = M::set(0);
  const auto maximum = window_maximum<M>(x);
  auto left = M::select_le(maximum, zero, zero, gradient);
  Window<M> result;
  result.a = M::select_le(maximum, x.a, left, zero);
  left = M::select_le(maximum, x.a, zero, left);
  result.b = M::select_le(maximum, x.b, left, zero);
  left = M::select_le(maximum, x.b, zero, left);
  result.c = M::select_le(maximum, x.c, left, zero);
  result.d = M::select_le(maximum, x.c, zero, left);
  return result;
}

SADAM_END_FORMULAS

#endif
