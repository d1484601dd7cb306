// Runs of elements of a direction, made tile by tile (see ../direction.h) in the vectors of the machine.
#if defined(SADAM_KERNELS_CPU_DIRECTION_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SADAM_KERNELS_CPU_DIRECTION_TILES_H
#undef SADAM_KERNELS_CPU_DIRECTION_TILES_H
#else
#define SADAM_KERNELS_CPU_DIRECTION_TILES_H
#endif

#include "kernels/cpu/lanes.h"
#include "kernels/direction.h"

SADAM_BEGIN_FORMULAS

// The scalar target has one lane, which cannot hold two blocks; it takes the scalar formula instead.
#if HWY_TARGET == HWY_SCALAR
using BlockMath = ScalarMath<double>;
#else
using BlockMath = HwyMath<hn::CappedTag<double, kTileBlocks / 2>>;
#endif

/// Makes the words of tiles. What neighbouring tiles share is kept from one to the next.
struct TileBlocks {
  DirectionKey key;
  std::uint64_t high;  ///< of the block numbers that `blocks` serves
  DirectionBlocks<BlockMath> blocks;

  HWY_INLINE static TileBlocks from(const DirectionKey& key) {
    return {key, 0, DirectionBlocks<BlockMath>::from(key, 0)};
  }

  /// The blocks of a tile that begins with block `first`.
  HWY_INLINE const DirectionBlocks<BlockMath>& at(std::uint64_t first) {
    if (HWY_UNLIKELY(first >> 32 != high))
      *this = {key, first >> 32, DirectionBlocks<BlockMath>::from(key, first)};
    return blocks;
  }
};

/// The words of sixteen blocks: word j of block first_block + l is words[16·j + l].
constexpr std::size_t kTileWords = 4 * kTileBlocks;

HWY_INLINE void make_words(TileBlocks& tile_blocks, std::uint64_t first_block,
                           std::uint32_t* HWY_RESTRICT words) {
  const auto& blocks = tile_blocks.at(first_block);
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t l = 0; l < kTileBlocks; ++l) {
    PhiloxWords<BlockMath> w[1];
    blocks.family.words({blocks.word0(first_block, l)}, w);
    words[l] = static_cast<std::uint32_t>(w[0].w0);
    words[kTileBlocks + l] = static_cast<std::uint32_t>(w[0].w1);
    words[2 * kTileBlocks + l] = static_cast<std::uint32_t>(w[0].w2);
    words[3 * kTileBlocks + l] = static_cast<std::uint32_t>(w[0].w3);
  }
#else
  // Philox multiplies 32 bits into 64, so a vector holds half as many blocks as it holds words: w[0] takes
  // the even blocks and w[1] the odd ones, and interleaving the two puts every word where it belongs.
  const BlockMath::Bits d64;
  const hn::Repartition<std::uint32_t, BlockMath::Bits> d32;
  const auto store_joined = [&](BlockMath::U even, BlockMath::U odd, std::uint32_t* to) HWY_ATTR {
    hn::Store(hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(odd)), hn::BitCast(d32, even)), d32, to);
  };
  for (std::size_t l = 0; l < kTileBlocks; l += hn::Lanes(d32)) {
    const auto even_lane = hn::ShiftLeft<1>(hn::Iota(d64, 0)) + hn::Set(d64, l);
    PhiloxWords<BlockMath> w[2];
    blocks.family.words(
        {blocks.word0(first_block, even_lane), blocks.word0(first_block, even_lane + hn::Set(d64, 1))}, w);
    store_joined(w[0].w0, w[1].w0, words + l);
    store_joined(w[0].w1, w[1].w1, words + kTileBlocks + l);
    store_joined(w[0].w2, w[1].w2, words + 2 * kTileBlocks + l);
    store_joined(w[0].w3, w[1].w3, words + 3 * kTileBlocks + l);
  }
#endif
}

/// `tiles` whole tiles of a normal direction.
template <class T>
HWY_INLINE void make_normal_tiles(TileBlocks& blocks, std::uint64_t first_tile, std::size_t tiles, T* out) {
  using M = StepMath<T>;
  const StepTag<T> d;
  const hn::Rebind<std::uint32_t, StepTag<T>> d32;
  // First the words of a few tiles, then their normals: each loop has the registers to itself.
  constexpr std::size_t kBatch = 4;
  alignas(64) std::uint32_t words[kBatch * 2 * kTileWords];
  for (std::size_t begin = 0; begin < tiles; begin += kBatch) {
    const std::size_t end = std::min(begin + kBatch, tiles);
    for (std::size_t half = 0; half < 2 * (end - begin); ++half)
      make_words(blocks, (2 * (first_tile + begin) + half) * kTileBlocks, words + half * kTileWords);
    for (std::size_t t = begin; t < end; ++t) {
      const auto* const radius_words = words + 2 * (t - begin) * kTileWords;
      const auto* const angle_words = radius_words + kTileWords;
      for (std::size_t j = 0; j < 4; ++j) {
        T* const to = out + (4 * t + j) * 2 * kTileBlocks;
        for (std::size_t l = 0; l < kTileBlocks; l += hn::Lanes(d)) {
          const auto z = normal_pair<M>(hn::Load(d32, radius_words + j * kTileBlocks + l),
                                        hn::Load(d32, angle_words + j * kTileBlocks + l));
          hn::StoreU(z.z0, d, to + l);
          hn::StoreU(z.z1, d, to + kTileBlocks + l);
        }
      }
    }
  }
}

/// `tiles` whole tiles of a Rademacher direction.
template <class T>
HWY_INLINE void make_rademacher_tiles(TileBlocks& blocks, std::uint64_t first_tile, std::size_t tiles,
                                      T* out) {
  using M = StepMath<T>;
  using Bits = typename M::Bits;
  const StepTag<T> d;
  const Bits du;
  alignas(64) hn::TFromD<Bits> bit_of_lane[32];
  for (int i = 0; i < 32; ++i) bit_of_lane[i] = hn::TFromD<Bits>{1} << i;
  alignas(64) std::uint32_t words[kTileWords];
  for (std::size_t t = 0; t < tiles; ++t) {
    make_words(blocks, (first_tile + t) * kTileBlocks, words);
    T* const to = out + t * kRademacherTile;
    for (std::size_t group = 0; group < kRademacherTile / 32; ++group) {
      const auto word = M::set_bits(words[group % 4 * kTileBlocks + group / 4]);
      for (std::size_t i = 0; i < 32; i += hn::Lanes(d)) {
        const auto is_set = hn::RebindMask(d, hn::TestBit(word, hn::Load(du, bit_of_lane + i)));
        hn::StoreU(hn::IfThenElse(is_set, M::set(-1), M::set(1)), d, to + 32 * group + i);
      }
    }
  }
}

template <class T>
HWY_INLINE void make_tiles(TileBlocks& blocks, Distribution distribution, std::uint64_t first_tile,
                           std::size_t tiles, T* out) {
  if (distribution == Distribution::normal) {
    make_normal_tiles(blocks, first_tile, tiles, out);
  } else {
    make_rademacher_tiles(blocks, first_tile, tiles, out);
  }
}

/// out[i] = z of element first + i. Where the run begins or ends inside a tile, the tile is made beside it by
/// the same instructions and copied.
template <class T>
HWY_NOINLINE void fill_direction(TileBlocks& blocks, Distribution distribution, std::uint64_t first,
                                 std::size_t count, T* out) {
  const std::uint64_t size = distribution == Distribution::normal ? kNormalTile : kRademacherTile;
  const std::uint64_t end = first + count;
  for (std::uint64_t e = first; e < end;) {
    const std::uint64_t tile = e / size;
    const std::uint64_t whole_tiles = e % size == 0 ? (end - e) / size : 0;
    if (whole_tiles > 0) {
      make_tiles(blocks, distribution, tile, static_cast<std::size_t>(whole_tiles), out + (e - first));
      e += whole_tiles * size;
    } else {
      const std::uint64_t stop = std::min((tile + 1) * size, end);
      alignas(64) T aside[kRademacherTile];
      make_tiles(blocks, distribution, tile, 1, aside);
      std::copy(aside + (e - tile * size), aside + (stop - tile * size), out + (e - first));
      e = stop;
    }
  }
}

/// Calls use(z, begin, size) for runs that cover [0, count): z is the direction from element first + begin
/// on, in a buffer that stays in the nearest cache. Runs end at multiples of their length in the direction,
/// so that only the first and the last tile of a segment can be cut.
template <class T, class Use>
HWY_INLINE void for_each_run(const DirectionKey& key, Distribution distribution, std::uint64_t first,
                             std::size_t count, const Use& use) {
  const std::size_t length = distribution == Distribution::normal ? 4 * kNormalTile : kRademacherTile;
  auto blocks = TileBlocks::from(key);
  alignas(64) T z[kRademacherTile];
  for (std::size_t begin = 0; begin < count;) {
    const std::size_t to_boundary = length - static_cast<std::size_t>((first + begin) % length);
    const std::size_t size = std::min(to_boundary, count - begin);
    fill_direction(blocks, distribution, first + begin, size, z);
    use(static_cast<const T*>(z), begin, size);
    begin += size;
  }
}

SADAM_END_FORMULAS

#endif
