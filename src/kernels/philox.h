// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as
// easy as 1, 2, 3", SC 2011): 128 random bits from a 128-bit counter and a 64-bit key, with no state in
// between.
#include "kernels/math.h"

#if defined(SADAM_KERNELS_PHILOX_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_PHILOX_H
#undef SADAM_KERNELS_PHILOX_H
#else
#define SADAM_KERNELS_PHILOX_H
#endif

SADAM_BEGIN_FORMULAS

constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53u;
constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57u;

/// Four words, each in the low half of a 64-bit lane. The high halves are free: the product ignores them on
/// the way in and they hold rubbish on the way out, which saves a mask on every word of every round.
template <class M>
struct PhiloxWords {
  typename M::U w0, w1, w2, w3;
};

/// The keys of the ten rounds. They are the same for every counter, so a loop makes them once.
template <class M>
struct PhiloxKeys {
  typename M::U k0[10], k1[10];

  SADAM_HD static PhiloxKeys from(std::uint64_t key) {
    auto low = static_cast<std::uint32_t>(key);
    auto high = static_cast<std::uint32_t>(key >> 32);
    PhiloxKeys keys;
    for (int round = 0; round < 10; ++round) {
      keys.k0[round] = M::set_bits(low);
      keys.k1[round] = M::set_bits(high);
      low += 0x9E3779B9u;
      high += 0xBB67AE85u;
    }
    return keys;
  }
};

/// Rounds `first` to the last for n counters. They go through the rounds in step: one alone would wait for
/// its own products most of the time. M is a policy whose U has 64 bits.
template <class M, int n>
SADAM_HD void philox_rounds(PhiloxWords<M> (&words)[n], const PhiloxKeys<M>& keys, int first) {
  const auto multiplier0 = M::set_bits(kPhiloxMultiplier0);
  const auto multiplier1 = M::set_bits(kPhiloxMultiplier1);
  for (int round = first; round < 10; ++round) {
    for (auto& c : words) {
      const auto p0 = M::mul_low_halves(c.w0, multiplier0);
      const auto p1 = M::mul_low_halves(c.w2, multiplier1);
      c = {M::template shift_right<32>(p1) ^ (c.w1 ^ keys.k0[round]), p1,
           M::template shift_right<32>(p0) ^ (c.w3 ^ keys.k1[round]), p0};
    }
  }
}

/// Counters that differ in word 0 alone. A word of a counter needs two rounds to reach all four, so half of
/// the first two rounds is the same for all of them and is done here, once.
template <class M>
struct PhiloxFamily {
  PhiloxKeys<M> keys;
  /// What is left to be mixed in: in round 0 into word 2, in round 1 into words 0 and 2; then word 3 after
  /// round 1.
  typename M::U round0_w2, round1_w0, round1_w2, w3;

  SADAM_HD static PhiloxFamily from(const PhiloxKeys<M>& keys, std::uint32_t w1, std::uint32_t w2,
                                    std::uint32_t w3) {
    const auto p1 = M::mul_low_halves(M::set_bits(w2), M::set_bits(kPhiloxMultiplier1));
    const auto w0_after_round0 = M::template shift_right<32>(p1) ^ (M::set_bits(w1) ^ keys.k0[0]);
    const auto p0 = M::mul_low_halves(w0_after_round0, M::set_bits(kPhiloxMultiplier0));
    return {keys, M::set_bits(w3) ^ keys.k1[0], p1 ^ keys.k0[1], M::template shift_right<32>(p0) ^ keys.k1[1],
            p0};
  }

  /// The random words of n members, given by their word 0.
  template <int n>
  SADAM_HD void words(const typename M::U (&w0)[n], PhiloxWords<M> (&out)[n]) const {
    const auto multiplier0 = M::set_bits(kPhiloxMultiplier0);
    const auto multiplier1 = M::set_bits(kPhiloxMultiplier1);
    for (int i = 0; i < n; ++i) {
      const auto p0 = M::mul_low_halves(w0[i], multiplier0);
      const auto p1 = M::mul_low_halves(M::template shift_right<32>(p0) ^ round0_w2, multiplier1);
      out[i] = {M::template shift_right<32>(p1) ^ round1_w0, p1, p0 ^ round1_w2, w3};
    }
    philox_rounds(out, keys, 2);
  }
};

SADAM_END_FORMULAS

#endif
