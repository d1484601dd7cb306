// One element of fake quantization: x to the nearest of a few levels, and back.
//
// Every operation is rounded to T in the order in which a chain of tensor operations would round it, so that
// the result is that of clamp(round(x·s), low, high)/s bit for bit, signs of zeros included.
#include "kernels/math.h"
#include "nn/kernels/kernels.h"

#if defined(SADAM_NN_KERNELS_FAKE_QUANTIZE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_NN_KERNELS_FAKE_QUANTIZE_H
#undef SADAM_NN_KERNELS_FAKE_QUANTIZE_H
#else
#define SADAM_NN_KERNELS_FAKE_QUANTIZE_H
#endif

SADAM_BEGIN_FORMULAS

/// What all elements of a tensor share.
template <class M>
struct QuantizeScalars {
  typename M::V scale, low, high;

  /// s = q/(max|x| + 1e-5): the small term keeps a tensor of zeros from dividing by zero.
  SADAM_HD static QuantizeScalars from(const QuantizationLevels& levels, typename M::V maximum) {
    return {M::set(levels.q) / (maximum + M::set(1e-5)), M::set(levels.low), M::set(levels.high)};
  }
};

/// The nearest integer, halves to even, for |x| below 2²² (float) or 2⁵¹ (double): adding 1.5 times the
/// number from which on values are whole makes the addition itself round. A negative x that rounds to zero
/// gives −0.
template <class M>
SADAM_HD typename M::V round_half_even(typename M::V x) {
  const auto shift = M::set(sizeof(typename M::T) == sizeof(float) ? 0x1.8p23 : 0x1.8p52);
  return M::copy_sign((x + shift) - shift, x);
}

/// Clamps before it rounds, which is the same since the limits are whole, and keeps the rounding's argument
/// small. The comparisons are such that a NaN stays one.
template <class M>
SADAM_HD typename M::V fake_quantize_element(const QuantizeScalars<M>& s, typename M::V x) {
  const auto scaled = x * s.scale;
  const auto below = M::select_le(s.high, scaled, s.high, scaled);
  return round_half_even<M>(M::select_le(below, s.low, s.low, below)) / s.scale;
}

SADAM_END_FORMULAS

#endif
