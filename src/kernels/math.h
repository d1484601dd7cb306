// The ground under the element formulas: where they may run, and the scalar form of their arithmetic.
//
// A formula is a template over a math policy M, so that one text serves plain C++ and CUDA (ScalarMath<T>)
// and Highway's vectors (HwyMath, in cpu/). A policy has
//   T           float or double
//   V, U        a value, and its bits as an unsigned integer as wide as T
//   Narrow      the policy for float with the same number of lanes; widen() goes from its V or U to this
//   one's
// and the functions below. Values also have + - * /, bits have + & ^.
//
// A formula writes every fused multiply-add as M::fma and is compiled with -ffp-contract=off, so that the
// same element gives the same bits wherever the compiler inlines it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SADAM_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define SADAM_HD inline __attribute__((always_inline))
#else
#define SADAM_HD inline
#endif

namespace sadam::kernels {

template <class Type>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

template <class Type>
struct ScalarMath {
  using T = Type;
  using V = Type;
  using U = typename BitsOf<Type>::type;
  using Narrow = ScalarMath<float>;

  SADAM_HD static V set(double x) { return static_cast<T>(x); }
  SADAM_HD static U set_bits(std::uint64_t x) { return static_cast<U>(x); }

  /// a·b + c. Fused on the GPU, and where the compiler's baseline has the instruction; a library call would
  /// cost more than the rounding is worth.
  SADAM_HD static V fma(V a, V b, V c) {
#if defined(__CUDA_ARCH__) || defined(__FMA__)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
  }
  /// c − a·b
  SADAM_HD static V neg_fma(V a, V b, V c) { return fma(-a, b, c); }
  SADAM_HD static V sqrt(V x) { return std::sqrt(x); }
  SADAM_HD static V max(V a, V b) { return a > b ? a : b; }
  SADAM_HD static V abs(V x) { return from_bits(bits(x) & ~sign_mask()); }
  SADAM_HD static V copy_sign(V magnitude, V sign) {
    return from_bits((bits(magnitude) & ~sign_mask()) ^ (bits(sign) & sign_mask()));
  }
  /// x where a ≤ b, else y (so y, where a or b is NaN).
  SADAM_HD static V select_le(V a, V b, V x, V y) { return a <= b ? x : y; }

  SADAM_HD static U bits(V x) {
    U u;
    memcpy(&u, &x, sizeof u);
    return u;
  }
  SADAM_HD static V from_bits(U u) {
    V x;
    memcpy(&x, &u, sizeof x);
    return x;
  }
  template <int k>
  SADAM_HD static U shift_left(U u) {
    return u << k;
  }
  template <int k>
  SADAM_HD static U shift_right(U u) {
    return u >> k;
  }
  /// An integer below 2³¹ as a value.
  SADAM_HD static V from_uint(U u) { return static_cast<T>(static_cast<std::int32_t>(u)); }
  /// x with its sign flipped where bit k of u is set.
  template <int k>
  SADAM_HD static V flip_sign_if_bit(V x, U u) {
    return from_bits(bits(x) ^ (shift_left<8 * sizeof(T) - 1 - k>(u) & sign_mask()));
  }
  /// set where bit k of u is set, clear elsewhere.
  template <int k>
  SADAM_HD static V select_bit(U u, V set, V clear) {
    return ((u >> k) & 1) != 0 ? set : clear;
  }
  /// The full product of the low halves of two 64-bit integers.
  SADAM_HD static U mul_low_halves(U a, U b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }

  SADAM_HD static V widen(float x) { return static_cast<T>(x); }
  SADAM_HD static U widen_bits(std::uint32_t u) { return static_cast<U>(u); }

 private:
  SADAM_HD static U sign_mask() { return U{1} << (8 * sizeof(T) - 1); }
};

}  // namespace sadam::kernels

// Highway compiles a file once for each instruction set. The formulas must be compiled with it, under that
// set's own compiler options and in its own namespace, so their headers are included anew each time; the
// include guard
//   #if defined(X) == defined(HWY_TARGET_TOGGLE)
// allows that, and is an ordinary guard where there is no Highway.
#ifdef HWY_TARGET_INCLUDE
#define SADAM_BEGIN_FORMULAS \
  HWY_BEFORE_NAMESPACE();    \
  namespace sadam::kernels::HWY_NAMESPACE {
#define SADAM_END_FORMULAS \
  }                        \
  HWY_AFTER_NAMESPACE();
#else
#define SADAM_BEGIN_FORMULAS namespace sadam::kernels {
#define SADAM_END_FORMULAS }
#endif
