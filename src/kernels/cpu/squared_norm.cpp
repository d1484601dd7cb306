// Σ z² of a normal direction, without making it.
//
// A pair of normals has z₀² + z₁² = −2 ln u, so a whole tile needs its blocks of radius words only, and Σ ln
// u = ln Π u needs one logarithm where there were thousands.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/squared_norm.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/direction_tiles.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

SADAM_BEGIN_FORMULAS

/// Π u over the lanes of many tiles, as sixteen mantissas in [1, 2) and sixteen exponents. Lane l takes the
/// words of lane l whatever the width of the vectors, so the result does not depend on the instruction set.
class UniformProduct {
 public:
  HWY_INLINE static UniformProduct one() {
    UniformProduct product;
    for (std::size_t k = 0; k < kVectors; ++k) {
      product.mantissa_[k] = M::set(1);
      product.exponent_[k] = M::set_bits(0);
    }
    return product;
  }

  HWY_INLINE void multiply(const std::uint32_t* words) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      for (std::size_t j = 0; j < 4; ++j)
        mantissa_[k] = mantissa_[k] * uniforms(words + k * kLanes + j * kTileBlocks);
    }
  }

  /// Moves the exponents of the running products aside. A tile can shrink them by 2⁻¹²⁸ and 2⁻¹⁰²² is the
  /// last that keeps all its digits, so this is due every seven tiles at the latest.
  static constexpr int kTilesBetweenNormalize = 4;
  HWY_INLINE void normalize() {
    for (std::size_t k = 0; k < kVectors; ++k) {
      const auto bits = M::bits(mantissa_[k]);
      exponent_[k] = exponent_[k] + M::shift_right<52>(bits) - M::set_bits(1023);
      mantissa_[k] =
          M::from_bits((bits & M::set_bits(0x000FFFFFFFFFFFFFu)) ^ M::set_bits(0x3FF0000000000000u));
    }
  }

  /// −2 ln of the product, after normalize().
  HWY_INLINE double minus_two_log() const {
    double mantissa[kStep];
    std::uint64_t exponent[kStep];
    for (std::size_t k = 0; k < kVectors; ++k) {
      hn::StoreU(mantissa_[k], D(), mantissa + k * kLanes);
      hn::StoreU(exponent_[k], M::Bits(), exponent + k * kLanes);
    }
    double logs = 0;
    std::int64_t exponents = 0;
    for (std::size_t l = 0; l < kStep; ++l) {
      logs += std::log(mantissa[l]);
      exponents += static_cast<std::int64_t>(exponent[l]);
    }
    return -2 * (logs + static_cast<double>(exponents) * 0.6931471805599453);  // ln 2
  }

 private:
  using D = StepTag<double>;
  using M = HwyMath<D>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());
  static constexpr std::size_t kVectors = kStep / kLanes;

  HWY_INLINE static M::V uniforms(const std::uint32_t* words) {
    return M::widen(radius_uniform<M::Narrow>(hn::Load(hn::Rebind<std::uint32_t, D>(), words)));
  }

  M::V mantissa_[kVectors];
  M::U exponent_[kVectors];
};

HWY_INLINE double squared_norm_of_tiles(TileBlocks& blocks, std::uint64_t first_tile,
                                        std::uint64_t end_tile) {
  auto product = UniformProduct::one();
  alignas(64) std::uint32_t words[kTileWords];
  for (std::uint64_t tile = first_tile; tile < end_tile;) {
    const auto stop = std::min<std::uint64_t>(tile + UniformProduct::kTilesBetweenNormalize, end_tile);
    for (; tile < stop; ++tile) {
      make_words(blocks, tile * 2 * kTileBlocks, words);
      product.multiply(words);
    }
    product.normalize();
  }
  return product.minus_two_log();
}

/// Σ z² of a few elements, at most a tile.
HWY_INLINE double squared_norm_of_elements(TileBlocks& blocks, std::uint64_t first, std::uint64_t end) {
  double z[kNormalTile];
  const auto count = static_cast<std::size_t>(end - first);
  fill_direction(blocks, Distribution::normal, first, count, z);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += z[i] * z[i];
  return sum;
}

double squared_norm_chunk(const SquaredNorm& launch, const Chunk& chunk) {
  auto blocks = TileBlocks::from(launch.key);
  const std::uint64_t first = launch.first + chunk.begin;
  const std::uint64_t end = launch.first + chunk.end;
  const std::uint64_t first_tile = (first + kNormalTile - 1) / kNormalTile;
  const std::uint64_t end_tile = end / kNormalTile;
  if (first_tile > end_tile) return squared_norm_of_elements(blocks, first, end);  // inside one tile
  return squared_norm_of_elements(blocks, first, first_tile * kNormalTile) +
         squared_norm_of_tiles(blocks, first_tile, end_tile) +
         squared_norm_of_elements(blocks, end_tile * kNormalTile, end);
}

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

HWY_EXPORT(squared_norm_chunk);

double squared_norm(const SquaredNorm& launch) {
  Chunks chunks;
  chunks.add(0, launch.count, launch.first);
  return chunks.sum<double>(launch.threads, [&](const Chunk& chunk) {
    return HWY_DYNAMIC_DISPATCH(squared_norm_chunk)(launch, chunk);
  });
}

}  // namespace sadam::kernels
#endif
