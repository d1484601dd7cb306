// The math policy of ../math.h on Highway's vectors, for the instruction set being compiled.
//
// Include after hwy/foreach_target.h and hwy/highway.h, before any header of formulas.
#if defined(SADAM_KERNELS_CPU_HWY_MATH_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_CPU_HWY_MATH_H
#undef SADAM_KERNELS_CPU_HWY_MATH_H
#else
#define SADAM_KERNELS_CPU_HWY_MATH_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/math.h"

SADAM_BEGIN_FORMULAS

namespace hn = hwy::HWY_NAMESPACE;

/// D is a Highway tag for float or double: it fixes the type and the number of lanes.
template <class D>
struct HwyMath {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using Bits = hn::RebindToUnsigned<D>;
  using U = hn::Vec<Bits>;
  using Narrow = HwyMath<hn::Rebind<float, D>>;

  HWY_INLINE static V set(double x) { return hn::Set(D(), static_cast<T>(x)); }
  HWY_INLINE static U set_bits(std::uint64_t x) { return hn::Set(Bits(), static_cast<hn::TFromD<Bits>>(x)); }

  HWY_INLINE static V fma(V a, V b, V c) { return hn::MulAdd(a, b, c); }
  HWY_INLINE static V neg_fma(V a, V b, V c) { return hn::NegMulAdd(a, b, c); }
  HWY_INLINE static V sqrt(V x) { return hn::Sqrt(x); }
  HWY_INLINE static V max(V a, V b) { return hn::Max(a, b); }
  HWY_INLINE static V abs(V x) { return hn::Abs(x); }
  HWY_INLINE static V copy_sign(V magnitude, V sign) { return hn::CopySign(magnitude, sign); }
  HWY_INLINE static V select_le(V a, V b, V x, V y) { return hn::IfThenElse(hn::Le(a, b), x, y); }

  HWY_INLINE static U bits(V x) { return hn::BitCast(Bits(), x); }
  HWY_INLINE static V from_bits(U u) { return hn::BitCast(D(), u); }
  template <int k>
  HWY_INLINE static U shift_left(U u) {
    return hn::ShiftLeft<k>(u);
  }
  template <int k>
  HWY_INLINE static U shift_right(U u) {
    return hn::ShiftRight<k>(u);
  }
  HWY_INLINE static V from_uint(U u) { return hn::ConvertTo(D(), hn::BitCast(hn::RebindToSigned<D>(), u)); }
  template <int k>
  HWY_INLINE static V flip_sign_if_bit(V x, U u) {
    constexpr int kSignBit = 8 * static_cast<int>(sizeof(T)) - 1;
    const auto sign_mask = set_bits(std::uint64_t{1} << kSignBit);
    return from_bits(bits(x) ^ (shift_left<kSignBit - k>(u) & sign_mask));
  }
  template <int k>
  HWY_INLINE static V select_bit(U u, V if_set, V if_clear) {
    const auto bit = hn::TestBit(u, set_bits(std::uint64_t{1} << k));
    return hn::IfThenElse(hn::RebindMask(D(), bit), if_set, if_clear);
  }
  HWY_INLINE static U mul_low_halves(U a, U b) {
    const hn::Repartition<std::uint32_t, Bits> halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
  }

  HWY_INLINE static V widen(typename Narrow::V x) {
    if constexpr (std::is_same_v<T, float>) {
      return x;
    } else {
      return hn::PromoteTo(D(), x);
    }
  }
  HWY_INLINE static U widen_bits(typename Narrow::U u) {
    if constexpr (std::is_same_v<T, float>) {
      return u;
    } else {
      return hn::PromoteTo(Bits(), u);
    }
  }
};

SADAM_END_FORMULAS

#endif
