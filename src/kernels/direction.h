// Which random bits element e of a direction is made of, and the element itself: the definition of the
// directions.
//
// A direction is an array of Philox blocks of four words, addressed by the counter
//   (low half of block, high half of block | probe << 16, low half of step, high half of step)
// under the key (low half of seed, high half of seed).
#include "kernels/kernels.h"
#include "kernels/normal.h"
#include "kernels/philox.h"

#if defined(SADAM_KERNELS_DIRECTION_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_DIRECTION_H
#undef SADAM_KERNELS_DIRECTION_H
#else
#define SADAM_KERNELS_DIRECTION_H
#endif

SADAM_BEGIN_FORMULAS

/// Blocks are made sixteen at a time: sixteen lanes, each with four words.
constexpr int kTileBlocks = 16;
/// What a tile of blocks yields: word j of its lane l is normal element 16·j + l of the tile, so that whole
/// vectors of lanes land next to each other in memory.
constexpr int kNormalTile = 4 * kTileBlocks;
/// A Rademacher element is one bit; the 128 of a block are in order.
constexpr int kRademacherBlock = 128;
constexpr int kRademacherTile = kRademacherBlock * kTileBlocks;

/// The blocks of one direction. M is a policy whose U has 64 bits; words are in the low halves.
template <class M>
struct DirectionBlocks {
  PhiloxKeys<M> keys;
  typename M::U step_low, step_high;
  std::uint64_t probe;

  SADAM_HD static DirectionBlocks from(const DirectionKey& key) {
    return {PhiloxKeys<M>::from(key.seed), M::set_bits(key.step & 0xFFFFFFFFu), M::set_bits(key.step >> 32),
            std::uint64_t{key.probe} << 16};
  }

  /// The counter of block + lane, where the sum may not carry into the high half of the block number.
  SADAM_HD PhiloxWords<M> counter(std::uint64_t block, typename M::U lane) const {
    return {M::set_bits(block & 0xFFFFFFFFu) + lane, M::set_bits((block >> 32) | probe), step_low, step_high};
  }
};

/// The words of one block.
SADAM_HD PhiloxWords<ScalarMath<double>> direction_block(const DirectionKey& key, std::uint64_t block) {
  const auto blocks = DirectionBlocks<ScalarMath<double>>::from(key);
  PhiloxWords<ScalarMath<double>> words[1] = {blocks.counter(block, 0)};
  philox4x32_10(words, blocks.keys);
  return words[0];
}

/// Element e, one at a time: what every faster loop must agree with.
template <class T>
SADAM_HD T normal_element(const DirectionKey& key, std::uint64_t e) {
  const auto words = direction_block(key, e / kNormalTile * kTileBlocks + e % kTileBlocks);
  const auto j = e % kNormalTile / kTileBlocks;
  const auto radius_word = static_cast<std::uint32_t>(j < 2 ? words.w0 : words.w2);
  const auto angle_word = static_cast<std::uint32_t>(j < 2 ? words.w1 : words.w3);
  const auto pair = normal_pair<ScalarMath<T>>(radius_word, angle_word);
  return j % 2 == 0 ? pair.z0 : pair.z1;
}

template <class T>
SADAM_HD T rademacher_element(const DirectionKey& key, std::uint64_t e) {
  const auto words = direction_block(key, e / kRademacherBlock);
  const auto j = e % kRademacherBlock / 32;
  const auto word = j == 0 ? words.w0 : j == 1 ? words.w1 : j == 2 ? words.w2 : words.w3;
  return ((word >> (e % 32)) & 1) != 0 ? T{-1} : T{1};
}

SADAM_END_FORMULAS

#endif
