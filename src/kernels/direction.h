// Which random bits element e of a direction is made of. tests/kernels/direction_element.h makes one element
// at a time, the definition that every loop must agree with.
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
/// A normal tile is made of thirty-two blocks: sixteen of radius words, then sixteen of angle words, so that
/// the norm, which needs no angles, needs half of the blocks. Word j of lane l of the two gives the normal
/// elements 32·j + l and 32·j + 16 + l of the tile, so that whole vectors of lanes land next to each other in
/// memory.
constexpr int kNormalTile = 8 * kTileBlocks;
/// A Rademacher element is one bit; the 128 of a block are in order.
constexpr int kRademacherBlock = 128;
constexpr int kRademacherTile = kRademacherBlock * kTileBlocks;

/// The blocks of one direction whose numbers have one high half. M is a policy whose U has 64 bits; words are
/// in the low halves.
template <class M>
struct DirectionBlocks {
  PhiloxFamily<M> family;

  SADAM_HD static DirectionBlocks from(const DirectionKey& key, std::uint64_t block) {
    return {PhiloxFamily<M>::from(
        PhiloxKeys<M>::from(key.seed), static_cast<std::uint32_t>(block >> 32) | key.probe << 16,
        static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32))};
  }

  /// Word 0 of the counter of block + lane, where the sum may not carry into the high half of the block
  /// number.
  SADAM_HD static typename M::U word0(std::uint64_t block, typename M::U lane) {
    return M::set_bits(block & 0xFFFFFFFFu) + lane;
  }
};

/// The factor on z in a segment of a launch.
template <class Launch, class Segment>
SADAM_HD double scale_of(const Launch& launch, const Segment& segment) {
  return segment.inverse_length == nullptr ? launch.scale : launch.scale * *segment.inverse_length;
}

SADAM_END_FORMULAS

#endif
