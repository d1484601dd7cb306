// The kernels that only the networks need: fake quantization on the CPU and on GPUs, pooling on the CPU. What
// kernels/kernels.h says of launches holds here too.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sadam::kernels {

/// max|x|: NaN if an element is NaN, 0 if there are none.
template <class T>
struct AbsoluteMaximum {
  const T* data = nullptr;
  std::int64_t count = 0;
  int threads = 1;
};
template <class T>
T absolute_maximum(const AbsoluteMaximum<T>& launch);

/// Where b bits place their levels: x is scaled by q/(max|x| + 1e-5), rounded, and clamped to [low, high].
struct QuantizationLevels {
  double q = 0;
  double low = 0;
  double high = 0;
};

/// For b from 2 to 8. With 2 bits q is 1.5 rather than 1, so that 1 and −1 take what lies beyond a third of
/// the maximum; −2 is in the range and does not occur, rounding apart.
constexpr QuantizationLevels quantization_levels(int bits) {
  const double half = 1 << (bits - 1);
  return {bits == 2 ? 1.5 : half - 1, -half, half - 1};
}

/// out = clamp(round(in·s), low, high)/s with s = q/(maximum + 1e-5), halves rounded to even. `in` may be
/// `out`.
template <class T>
struct FakeQuantize {
  T* out = nullptr;
  const T* in = nullptr;
  std::int64_t count = 0;
  T maximum = 0;  ///< max|in|
  QuantizationLevels levels;
  int threads = 1;
};
template <class T>
void fake_quantize(const FakeQuantize<T>& launch);

/// Images whose channels lie together (n, height, width, channels), of at least 2×2.
struct PoolShape {
  std::int64_t images = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

/// out = max(0, the largest of each 2×2 window). A last row or column of an odd number is left out.
template <class T>
struct PoolRelu {
  T* out = nullptr;
  const T* in = nullptr;
  PoolShape shape;  ///< of `in`
  int threads = 1;
};
template <class T>
void pool_relu(const PoolRelu<T>& launch);

/// The gradient of `in` from that of `out`: to the first of the largest elements of a window if it is above
/// zero, 0 elsewhere.
template <class T>
struct PoolReluGradient {
  T* in_gradient = nullptr;
  const T* in = nullptr;
  const T* out_gradient = nullptr;
  PoolShape shape;  ///< of `in`
  int threads = 1;
};
template <class T>
void pool_relu_gradient(const PoolReluGradient<T>& launch);

}  // namespace sadam::kernels

/// The twins for GPUs: pointers are to device memory, and the maximum stays there.
namespace sadam::kernels::cuda {

/// *out = max|x|: NaN if an element is NaN.
template <class T>
struct AbsoluteMaximum {
  const T* data = nullptr;
  std::int64_t count = 0;
  T* out = nullptr;
  Stream stream = nullptr;
};
template <class T>
void absolute_maximum(const AbsoluteMaximum<T>& launch);

template <class T>
struct FakeQuantize {
  T* out = nullptr;
  const T* in = nullptr;  ///< may be `out`
  std::int64_t count = 0;
  const T* maximum = nullptr;
  QuantizationLevels levels;
  Stream stream = nullptr;
};
template <class T>
void fake_quantize(const FakeQuantize<T>& launch);

}  // namespace sadam::kernels::cuda
