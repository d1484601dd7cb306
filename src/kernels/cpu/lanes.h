// Loops over arrays in steps of sixteen elements, whatever the width of the machine's vectors.
//
// A step of fixed size fixes the order in which sums are taken, so that they do not depend on the instruction
// set. What is left at the end goes through padded buffers and the same instructions: an element's result
// does not depend on where a segment ends, and nothing outside the arrays is touched.
#if defined(SADAM_KERNELS_CPU_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_CPU_LANES_H
#undef SADAM_KERNELS_CPU_LANES_H
#else
#define SADAM_KERNELS_CPU_LANES_H
#endif

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/cpu/hwy_math.h"

SADAM_BEGIN_FORMULAS

constexpr std::size_t kStep = 16;

/// The widest vectors of the machine, but no wider than a step.
template <class T>
using StepTag = hn::CappedTag<T, kStep>;
template <class T>
using StepMath = HwyMath<StepTag<T>>;

/// Calls step(in, out, valid) for each step of `count` elements. It reads sixteen elements from each of `in`
/// and writes sixteen to each of `out`; the first `valid` of them are the arrays' own, the others zeros that
/// lead nowhere. (A step is a struct rather than a lambda, so that HWY_INLINE keeps its constants in
/// registers.)
template <class T, std::size_t Ins, std::size_t Outs, class StepFunction>
HWY_INLINE void for_each_step(std::array<const T*, Ins> in, std::array<T*, Outs> out, std::size_t count,
                              StepFunction& step) {
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    step(in, out, kStep);
    for (auto& pointer : in) pointer += kStep;
    for (auto& pointer : out) pointer += kStep;
  }
  const std::size_t valid = count - i;
  if (valid == 0) return;
  T padded_in[Ins][kStep] = {};
  T padded_out[Outs > 0 ? Outs : 1][kStep];
  std::array<const T*, Ins> from;
  std::array<T*, Outs> to;
  for (std::size_t k = 0; k < Ins; ++k) {
    std::copy_n(in[k], valid, padded_in[k]);
    from[k] = padded_in[k];
  }
  for (std::size_t k = 0; k < Outs; ++k) to[k] = padded_out[k];
  step(from, to, valid);
  for (std::size_t k = 0; k < Outs; ++k) std::copy_n(padded_out[k], valid, out[k]);
}

/// Σ a·b in double over steps of sixteen elements: element i of a step always goes to sum i, and the sixteen
/// sums are added in one order. (Not a constructor: those the compiler adds would lack the instruction set's
/// options.)
class StepSum {
 public:
  HWY_INLINE static StepSum zero() {
    StepSum sum;
    for (auto& s : sum.sums_) s = hn::Zero(D());
    return sum;
  }

  template <class T>
  HWY_INLINE void add_product(const T* a, const T* b) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      sums_[k] = hn::MulAdd(wide(a + k * kLanes), wide(b + k * kLanes), sums_[k]);
    }
  }

  HWY_INLINE double total() const {
    double sums[kStep];
    for (std::size_t k = 0; k < kVectors; ++k) hn::StoreU(sums_[k], D(), sums + k * kLanes);
    for (std::size_t half = kStep / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

 private:
  using D = StepTag<double>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());
  static constexpr std::size_t kVectors = kStep / kLanes;

  template <class T>
  HWY_INLINE static hn::Vec<D> wide(const T* p) {
    const auto v = hn::LoadU(hn::Rebind<T, D>(), p);
    if constexpr (std::is_same_v<T, double>) {
      return v;
    } else {
      return hn::PromoteTo(D(), v);
    }
  }

  hn::Vec<D> sums_[kVectors];
};

SADAM_END_FORMULAS

#endif
