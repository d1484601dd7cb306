// Loops over a direction, which is made in registers as it is needed.
//
// Chunks are cut where the global index is a multiple of their size: no tile is cut but the first and the
// last of a segment, and the block numbers of a chunk have one high half.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.cuh"
#include "kernels/direction.h"

namespace sadam::kernels::cuda {

constexpr std::uint64_t kDirectionChunk = 64 * kNormalTile;

inline std::uint64_t direction_chunks(std::uint64_t first, std::uint64_t count,
                                      std::uint64_t size = kDirectionChunk) {
  return count == 0 ? 0 : (first + count - 1) / size - first / size + 1;
}

/// chunks_of() for segments of parameters.
struct DirectionChunks {
  template <class Segment>
  std::uint64_t operator()(const Segment& segment) const {
    return segment.count <= 0 ? 0
                              : direction_chunks(segment.first, static_cast<std::uint64_t>(segment.count));
  }
};

#ifdef __CUDACC__
/// The policy for blocks. Spelled as 64-bit arithmetic, the product of two words is not found to be the one
/// instruction that it is.
struct DirectionMath : ScalarMath<double> {
  __device__ __forceinline__ static U mul_low_halves(U a, U b) {
    U product;
    asm("mul.wide.u32 %0, %1, %2;"
        : "=l"(product)
        : "r"(static_cast<std::uint32_t>(a)), "r"(static_cast<std::uint32_t>(b)));
    return product;
  }
};
using Blocks = DirectionBlocks<DirectionMath>;

/// Which elements of a stretch of a direction lie in a segment: those with low ≤ place < high. The element at
/// `place` has the index offset + place in the segment.
struct Overlap {
  std::int64_t offset;
  int low, high;

  __device__ __forceinline__ static Overlap of(std::uint64_t begin, int size, std::uint64_t first,
                                               std::uint64_t count) {
    const auto offset = static_cast<std::int64_t>(begin - first);
    const std::int64_t end = static_cast<std::int64_t>(count) - offset;
    return {offset, offset < 0 ? (-offset < size ? static_cast<int>(-offset) : size) : 0,
            end < size ? static_cast<int>(end) : size};
  }
  __device__ __forceinline__ bool empty() const { return low >= high; }
  __device__ __forceinline__ bool has(int place) const { return low <= place && place < high; }
};

struct BlockWords {
  std::uint32_t word[4];
  __device__ __forceinline__ static BlockWords of(const PhiloxWords<DirectionMath>& words) {
    return {{static_cast<std::uint32_t>(words.w0), static_cast<std::uint32_t>(words.w1),
             static_cast<std::uint32_t>(words.w2), static_cast<std::uint32_t>(words.w3)}};
  }
};

/// Half a warp makes a tile: lane l its radius block l and its angle block l, which give the elements 32·j +
/// l and 32·j + 16 + l. So sixteen threads always touch sixteen neighbours. Calls load(i) for each element i
/// of the segment, then use(i, loaded, z); the loads are under way while the direction is made. A tile that
/// is not cut needs no questions, which are a sixth of the work.
template <class T, bool cut, class Load, class Use>
__device__ __forceinline__ void make_normal_tile(const Blocks& blocks, std::uint64_t tile,
                                                 const Overlap& overlap, const Load& load, const Use& use) {
  const auto lane = static_cast<int>(threadIdx.x) % kTileBlocks;
  const std::int64_t mine = overlap.offset + lane;
  T loaded[8];
#pragma unroll
  for (int k = 0; k < 8; ++k)
    loaded[k] = !cut || overlap.has(kTileBlocks * k + lane) ? load(mine + kTileBlocks * k) : T{0};
  PhiloxWords<DirectionMath> words[2];
  const std::uint64_t block = tile * (2 * kTileBlocks) + static_cast<std::uint64_t>(lane);
  blocks.family.words({Blocks::word0(block, 0), Blocks::word0(block, kTileBlocks)}, words);
  const auto radius = BlockWords::of(words[0]);
  const auto angle = BlockWords::of(words[1]);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const auto pair = normal_pair<ScalarMath<T>>(radius.word[j], angle.word[j]);
    const int z0 = 2 * kTileBlocks * j;
    const int z1 = z0 + kTileBlocks;
    if (!cut || overlap.has(z0 + lane)) use(mine + z0, loaded[2 * j], pair.z0);
    if (!cut || overlap.has(z1 + lane)) use(mine + z1, loaded[2 * j + 1], pair.z1);
  }
}

template <class T, class Load, class Use>
__device__ __forceinline__ void for_each_normal(const DirectionKey& key, std::uint64_t first,
                                                std::uint64_t count, std::uint64_t chunk, const Load& load,
                                                const Use& use) {
  constexpr int kTiles = kDirectionChunk / kNormalTile;
  const std::uint64_t first_tile = chunk * kTiles;
  const auto blocks = Blocks::from(key, first_tile * (2 * kTileBlocks));
#pragma unroll 1
  for (int t = static_cast<int>(threadIdx.x) / kTileBlocks; t < kTiles; t += kThreads / kTileBlocks) {
    const std::uint64_t tile = first_tile + static_cast<std::uint64_t>(t);
    const auto overlap = Overlap::of(tile * kNormalTile, kNormalTile, first, count);
    if (overlap.low == 0 && overlap.high == kNormalTile) {
      make_normal_tile<T, false>(blocks, tile, overlap, load, use);
    } else if (!overlap.empty()) {
      make_normal_tile<T, true>(blocks, tile, overlap, load, use);
    }
  }
}

/// A warp makes 1024 elements: lane l makes the word of elements 32·l to 32·l + 31 and passes it around, so
/// that a warp always touches thirty-two neighbours.
template <class T, class Load, class Use>
__device__ __forceinline__ void for_each_sign(const DirectionKey& key, std::uint64_t first,
                                              std::uint64_t count, std::uint64_t chunk, const Load& load,
                                              const Use& use) {
  constexpr int kWarp = 32;
  constexpr int kStretch = kWarp * kWarp;
  constexpr int kAtOnce = 8;
  static_assert(kDirectionChunk == kThreads / kWarp * kStretch);
  const auto lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::uint64_t begin = chunk * kDirectionChunk + threadIdx.x / kWarp * kStretch;
  const auto overlap = Overlap::of(begin, kStretch, first, count);
  if (overlap.empty()) return;  // the whole warp
  PhiloxWords<DirectionMath> words[1];
  const std::uint64_t block = begin / kRademacherBlock + static_cast<std::uint64_t>(lane / 4);
  Blocks::from(key, block).family.words({Blocks::word0(block, 0)}, words);
  const auto made = BlockWords::of(words[0]);
  const std::uint32_t mine = lane % 4 == 0   ? made.word[0]
                             : lane % 4 == 1 ? made.word[1]
                             : lane % 4 == 2 ? made.word[2]
                                             : made.word[3];
#pragma unroll 1
  for (int begin_word = 0; begin_word < kWarp; begin_word += kAtOnce) {
    T loaded[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int place = kWarp * (begin_word + k) + lane;
      loaded[k] = overlap.has(place) ? load(overlap.offset + place) : T{0};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::uint32_t word = __shfl_sync(0xffffffffu, mine, begin_word + k);
      const int place = kWarp * (begin_word + k) + lane;
      if (overlap.has(place))
        use(overlap.offset + place, loaded[k], ((word >> lane) & 1) != 0 ? T{-1} : T{1});
    }
  }
}

template <class T, Distribution distribution, class Segment, class Load, class Use>
__device__ __forceinline__ void for_each_in_direction(const DirectionKey& key, const Segment& segment,
                                                      std::uint64_t chunk, const Load& load, const Use& use) {
  const auto count = static_cast<std::uint64_t>(segment.count);
  const std::uint64_t whole_chunk = segment.first / kDirectionChunk + chunk;
  if constexpr (distribution == Distribution::normal) {
    for_each_normal<T>(key, segment.first, count, whole_chunk, load, use);
  } else {
    for_each_sign<T>(key, segment.first, count, whole_chunk, load, use);
  }
}
#endif

}  // namespace sadam::kernels::cuda
