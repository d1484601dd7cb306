#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/direction.h"
#include "kernels/perturbed.h"

namespace sadam::kernels {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  using M = ScalarMath<double>;
  const auto keys = PhiloxKeys<M>::from(key[0] | std::uint64_t{key[1]} << 32);
  PhiloxWords<M> words[1];
  PhiloxFamily<M>::from(keys, counter[1], counter[2], counter[3]).words({counter[0]}, words);
  const auto& w = words[0];
  return {static_cast<std::uint32_t>(w.w0), static_cast<std::uint32_t>(w.w1),
          static_cast<std::uint32_t>(w.w2), static_cast<std::uint32_t>(w.w3)};
}

struct KnownAnswer {
  Words counter;
  std::array<std::uint32_t, 2> key;
  Words words;
};

// From the authors' Random123 distribution.
const KnownAnswer kZeros = {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}};
const KnownAnswer kOnes = {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                           {0xffffffff, 0xffffffff},
                           {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}};
const KnownAnswer kPiDigits = {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                               {0xa4093822, 0x299f31d0},
                               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};

TEST(Philox, MatchesThePublishedKnownAnswers) {
  for (const auto& known : {kZeros, kOnes, kPiDigits})
    EXPECT_EQ(philox(known.counter, known.key), known.words);
}

/// The direction that has `known` at some block, and that block: counters and keys map onto directions one to
/// one.
struct Place {
  DirectionKey key;
  std::uint64_t block;
};
Place place_of(const KnownAnswer& known) {
  const auto& c = known.counter;
  return {{known.key[0] | std::uint64_t{known.key[1]} << 32, c[2] | std::uint64_t{c[3]} << 32, c[1] >> 16},
          c[0] | std::uint64_t{c[1] & 0xffff} << 32};
}

class PhiloxOnEveryTarget : public EveryTarget {};
SADAM_FOR_EVERY_TARGET(PhiloxOnEveryTarget);

// A Rademacher direction shows every bit of every word, so the kernels themselves can be held to the
// published words.
TEST_P(PhiloxOnEveryTarget, MatchesThePublishedKnownAnswersThroughRademacherBits) {
  for (const auto& known : {kZeros, kOnes, kPiDigits}) {
    const auto place = place_of(known);
    const auto z = generated<float>(place.key, Distribution::rademacher, place.block * kRademacherBlock, 128);
    Words words = {};
    for (std::size_t i = 0; i < 128; ++i) {
      EXPECT_EQ(std::abs(z[i]), 1.0f);
      if (z[i] < 0) words[i / 32] |= std::uint32_t{1} << (i % 32);
    }
    EXPECT_EQ(words, known.words);
  }
}

}  // namespace
}  // namespace sadam::kernels
