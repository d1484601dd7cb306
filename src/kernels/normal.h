// Two random words to two independent standard normals: the polar form of Box and Muller.
//
// The radius comes from the first word, √(−2 ln u). The angle needs no range reduction: 29 bits of the second
// word place it in the first eighth of the circle, one bit mirrors it at the diagonal, two bits give the
// signs.
//
// The uniforms are rounded to float for both types, so that the float and the double direction with one name
// differ by the rounding of the formulas alone, and Σ z² = −2 Σ ln u is the same number for both.
//
// The polynomials are minimax fits made for these intervals; the bound beside each is its relative error.
#include "kernels/math.h"

#if defined(SADAM_KERNELS_NORMAL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_NORMAL_H
#undef SADAM_KERNELS_NORMAL_H
#else
#define SADAM_KERNELS_NORMAL_H
#endif

SADAM_BEGIN_FORMULAS

/// c₀ + c₁x + c₂x² + … by Horner's rule.
template <class M, class... Rest>
SADAM_HD typename M::V polynomial(typename M::V x, double c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return M::set(c0);
  } else {
    return M::fma(polynomial<M>(x, rest...), x, M::set(c0));
  }
}

/// The u of −2 ln u: a multiple of 2⁻³² in (0, 1]. F is a policy for float.
template <class F>
SADAM_HD typename F::V radius_uniform(typename F::U word) {
  return F::fma(F::from_uint(F::template shift_right<1>(word)), F::set(0x1p-31), F::set(0x1p-32));
}

/// −2 ln(1 + f) for 1 + f in [√½, √2), exact to rounding also near f = 0.
template <class M>
SADAM_HD typename M::V minus_two_log1p(typename M::V f) {
  if constexpr (sizeof(typename M::T) == sizeof(float)) {
    // −2f + f² + f³·Q(f); 3e-8
    const auto q = polynomial<M>(f, -0x1.55567ap-1, 0x1.0005e4p-1, -0x1.98ee0ap-2, 0x1.531228p-2,
                                 -0x1.305894p-2, 0x1.26d1aep-2, -0x1.6ff4e4p-3);
    return M::fma(f * f, M::fma(f, q, M::set(1)), f * M::set(-2));
  } else {
    // ln(1 + f) = 2 artanh(s) with s = f/(2 + f); 1e-20
    const auto s = f / (f + M::set(2));
    const auto z = s * s;
    const auto q = polynomial<M>(z, -0x1.5555555555555p+0, -0x1.9999999999d24p-1, -0x1.2492492438db0p-1,
                                 -0x1.c71c724baa7dap-2, -0x1.745ce1c8db844p-2, -0x1.3b20226969877p-2,
                                 -0x1.0f678f506c567p-2, -0x1.0f0a8cda5ce1bp-2);
    return s * M::fma(z, q, M::set(-4));
  }
}

/// √(−2 ln u) for u in (0, 1].
template <class M>
SADAM_HD typename M::V normal_radius(typename M::Narrow::V u) {
  using F = typename M::Narrow;
  // u = (1 + f)·2^e with 1 + f in [√½, √2): for u near 1, e is 0 and nothing cancels. f and e are exact in
  // float.
  const std::uint32_t sqrt_half = 0x3F3504F3u;
  const auto shifted = F::bits(u) + F::set_bits(0x3F800000u - sqrt_half);
  const auto e = F::from_uint(F::template shift_right<23>(shifted)) - F::set(127);
  const auto f = F::from_bits((shifted & F::set_bits(0x007FFFFFu)) + F::set_bits(sqrt_half)) - F::set(1);
  const auto minus_two_log =
      M::fma(M::widen(e), M::set(-1.3862943611198906), minus_two_log1p<M>(M::widen(f)));  // −2 ln 2
  return M::sqrt(M::max(minus_two_log, M::set(0)));
}

/// sin(πt/4) and cos(πt/4) for t in [0, 1].
template <class M>
SADAM_HD typename M::V sin_eighth_turn(typename M::V t) {
  const auto z = t * t;
  if constexpr (sizeof(typename M::T) == sizeof(float)) {
    return t * polynomial<M>(z, 0x1.921fb6p-1, -0x1.4abbbap-4, 0x1.465e92p-9, -0x1.2d9302p-15);  // 4e-9
  } else {
    return t * polynomial<M>(z, 0x1.921fb54442d18p-1, -0x1.4abbce625be53p-4, 0x1.466bc6775aadap-9,
                             -0x1.32d2cce62ad8cp-15, 0x1.50783485e6641p-22, -0x1.e3074b7172debp-30,
                             0x1.e8eee6c8f68dap-38, -0x1.6c611e48e3cf8p-46);  // 2e-21
  }
}
template <class M>
SADAM_HD typename M::V cos_eighth_turn(typename M::V t) {
  const auto z = t * t;
  if constexpr (sizeof(typename M::T) == sizeof(float)) {
    return polynomial<M>(z, 1, -0x1.3bd3ccp-2, 0x1.03c1dep-6, -0x1.55c5e0p-12, 0x1.d9d59ep-19);  // 7e-11
  } else {
    return polynomial<M>(z, 1, -0x1.3bd3cc9be45dep-2, 0x1.03c1f081b5aaep-6, -0x1.55d3c7e3c9288p-12,
                         0x1.e1f50683685dep-19, -0x1.a6d1ec7e811dbp-26, 0x1.f9cc40fd501dap-34,
                         -0x1.b263d93647becp-42);  // 4e-20
  }
}

template <class M>
struct NormalPair {
  typename M::V z0, z1;
};

template <class M>
SADAM_HD NormalPair<M> normal_pair(typename M::Narrow::U radius_word, typename M::Narrow::U angle_word) {
  using F = typename M::Narrow;
  const auto radius = normal_radius<M>(radius_uniform<F>(radius_word));
  const auto t = M::widen(F::from_uint(F::template shift_right<3>(angle_word)) * F::set(0x1p-29));
  const auto c = radius * cos_eighth_turn<M>(t);
  const auto s = radius * sin_eighth_turn<M>(t);
  const auto choice = M::widen_bits(angle_word);
  return {M::template flip_sign_if_bit<1>(M::template select_bit<0>(choice, s, c), choice),
          M::template flip_sign_if_bit<2>(M::template select_bit<0>(choice, c, s), choice)};
}

SADAM_END_FORMULAS

#endif
