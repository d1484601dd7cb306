// Element e of a direction, one at a time: what every faster loop must agree with.
#pragma once

#include <cstdint>

#include "kernels/direction.h"

namespace sadam::kernels {

/// The words of one block.
inline PhiloxWords<ScalarMath<double>> direction_block(const DirectionKey& key, std::uint64_t block) {
  using Blocks = DirectionBlocks<ScalarMath<double>>;
  PhiloxWords<ScalarMath<double>> words[1];
  Blocks::from(key, block).family.words({Blocks::word0(block, 0)}, words);
  return words[0];
}

/// Word j of one block.
inline std::uint32_t direction_word(const DirectionKey& key, std::uint64_t block, std::uint64_t j) {
  const auto words = direction_block(key, block);
  return static_cast<std::uint32_t>(j == 0 ? words.w0 : j == 1 ? words.w1 : j == 2 ? words.w2 : words.w3);
}

template <class T, class Math = ScalarMath<T>>
T normal_element(const DirectionKey& key, std::uint64_t e) {
  const auto radius_block = e / kNormalTile * (2 * kTileBlocks) + e % kTileBlocks;
  const auto j = e % kNormalTile / (2 * kTileBlocks);
  const auto pair = normal_pair<Math>(direction_word(key, radius_block, j),
                                      direction_word(key, radius_block + kTileBlocks, j));
  return e / kTileBlocks % 2 == 0 ? pair.z0 : pair.z1;
}

template <class T>
T rademacher_element(const DirectionKey& key, std::uint64_t e) {
  const auto word = direction_word(key, e / kRademacherBlock, e % kRademacherBlock / 32);
  return ((word >> (e % 32)) & 1) != 0 ? T{-1} : T{1};
}

}  // namespace sadam::kernels
