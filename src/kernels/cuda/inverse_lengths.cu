// 1/‖z‖ of stretches of a normal direction, without making it.
//
// A pair of normals has z₀² + z₁² = −2 ln u, so a whole tile needs its blocks of radius words only, and a sum
// of logarithms needs one logarithm of a product.
#include "kernels/cuda/batches.cuh"
#include "kernels/cuda/directions.cuh"
#include "kernels/cuda/sums.cuh"

namespace sadam::kernels::cuda {
namespace {

/// A tile costs little here, so a block takes more of them.
constexpr std::uint64_t kLengthChunk = 2 * kDirectionChunk;

struct LengthChunks {
  std::uint64_t operator()(const LengthSegment& segment) const {
    return direction_chunks(segment.first, segment.count, kLengthChunk);
  }
};

struct LengthArguments {
  DirectionOfStep direction;
  double* parts;  ///< one for each chunk
  double added;
  Batch<LengthSegment> batch;
};

/// Π u as a mantissa in [1, 2) and an exponent.
class UniformProduct {
 public:
  __device__ __forceinline__ void multiply(const BlockWords& radius) {
    double product = mantissa_;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      product *= static_cast<double>(radius_uniform<ScalarMath<float>>(radius.word[j]));
    const auto bits = M::bits(product);  // at least 2⁻¹²⁸
    exponent_ += static_cast<int>(bits >> 52) - 1023;
    mantissa_ = M::from_bits((bits & 0x000FFFFFFFFFFFFFu) ^ 0x3FF0000000000000u);
  }

  __device__ __forceinline__ double minus_two_log() const {
    return -2 * M::fma(static_cast<double>(exponent_), 0.6931471805599453, std::log(mantissa_));  // ln 2
  }

 private:
  using M = ScalarMath<double>;
  double mantissa_ = 1;
  int exponent_ = 0;
};

/// Σ z² of this lane's elements in a tile that is cut.
__device__ __forceinline__ double squares_in(const Overlap& overlap, const BlockWords& radius,
                                             const BlockWords& angle) {
  const auto lane = static_cast<int>(threadIdx.x) % kTileBlocks;
  double sum = 0;
#pragma unroll 1
  for (int j = 0; j < 4; ++j) {
    const auto pair = normal_pair<ScalarMath<double>>(radius.word[j], angle.word[j]);
    const int place = 2 * kTileBlocks * j + lane;
    if (overlap.has(place)) sum += pair.z0 * pair.z0;
    if (overlap.has(place + kTileBlocks)) sum += pair.z1 * pair.z1;
  }
  return sum;
}

/// Half a warp looks at a tile, as when it is made (see directions.cuh).
__device__ __forceinline__ double squares_of_chunk(const DirectionKey& key, const LengthSegment& segment,
                                                   std::uint64_t chunk) {
  constexpr int kTiles = kLengthChunk / kNormalTile;
  const std::uint64_t first_tile = (segment.first / kLengthChunk + chunk) * kTiles;
  const auto lane = static_cast<std::uint64_t>(threadIdx.x % kTileBlocks);
  const auto blocks = Blocks::from(key, first_tile * (2 * kTileBlocks));
  UniformProduct product;
  double of_cut_tiles = 0;
  for (int t = static_cast<int>(threadIdx.x) / kTileBlocks; t < kTiles; t += kThreads / kTileBlocks) {
    const std::uint64_t tile = first_tile + static_cast<std::uint64_t>(t);
    const auto overlap = Overlap::of(tile * kNormalTile, kNormalTile, segment.first, segment.count);
    if (overlap.empty()) continue;
    const std::uint64_t block = tile * (2 * kTileBlocks) + lane;
    PhiloxWords<DirectionMath> radius[1];
    blocks.family.words({Blocks::word0(block, 0)}, radius);
    if (overlap.low == 0 && overlap.high == kNormalTile) {
      product.multiply(BlockWords::of(radius[0]));
    } else {
      PhiloxWords<DirectionMath> angle[1];
      blocks.family.words({Blocks::word0(block, kTileBlocks)}, angle);
      of_cut_tiles += squares_in(overlap, BlockWords::of(radius[0]), BlockWords::of(angle[0]));
    }
  }
  return product.minus_two_log() + of_cut_tiles;
}

__global__ void __launch_bounds__(kThreads)
    squared_lengths_kernel(const __grid_constant__ LengthArguments arguments) {
  const auto key = arguments.direction.key();
  for_each_chunk(arguments.batch, [&](const LengthSegment& segment, std::uint64_t chunk, std::uint64_t part) {
    const double total = block_sum(squares_of_chunk(key, segment, chunk));
    if (threadIdx.x == 0) arguments.parts[part] = total;
  });
}

/// A block adds the parts of one segment.
__global__ void __launch_bounds__(kThreads)
    inverse_lengths_kernel(const __grid_constant__ LengthArguments arguments) {
  const auto& batch = arguments.batch;
  const std::uint64_t begin = batch.chunks_before[blockIdx.x];
  const auto count = static_cast<std::int64_t>(batch.chunks_before[blockIdx.x + 1] - begin);
  const double length = std::sqrt(block_sum_of(arguments.parts + begin, count)) + arguments.added;
  if (threadIdx.x == 0) *batch.segments[blockIdx.x].inverse = length > 0 ? 1 / length : 0;
}

}  // namespace

std::int64_t lengths_scratch(const InverseLengths& launch) {
  return total_chunks(launch.segments, LengthChunks());
}

void inverse_lengths(const InverseLengths& launch) {
  for_each_batch(launch.segments, LengthChunks(), [&](const auto& batch, std::uint64_t before) {
    const LengthArguments arguments = {launch.direction, launch.scratch + before, launch.added, batch};
    if (batch.chunks() > 0)
      start("squared_lengths", squared_lengths_kernel, grid_for(batch.chunks()), arguments,
            launch.place.stream);
    start("inverse_lengths", inverse_lengths_kernel, static_cast<unsigned>(batch.count), arguments,
          launch.place.stream);
  });
}

}  // namespace sadam::kernels::cuda
