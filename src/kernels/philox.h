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

/// Replaces each of n counters by its random words. The counters go through the rounds in step: one alone
/// would wait for its own products most of the time. M is a policy whose U has 64 bits.
template <class M, int n>
SADAM_HD void philox4x32_10(PhiloxWords<M> (&counters)[n], const PhiloxKeys<M>& keys) {
  const auto multiplier0 = M::set_bits(0xD2511F53u);
  const auto multiplier1 = M::set_bits(0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    for (auto& c : counters) {
      const auto p0 = M::mul_low_halves(c.w0, multiplier0);
      const auto p1 = M::mul_low_halves(c.w2, multiplier1);
      c = {M::template shift_right<32>(p1) ^ (c.w1 ^ keys.k0[round]), p1,
           M::template shift_right<32>(p0) ^ (c.w3 ^ keys.k1[round]), p0};
    }
  }
}

SADAM_END_FORMULAS

#endif
