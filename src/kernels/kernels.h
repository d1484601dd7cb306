// The CPU kernels: every loop over the parameters that the library makes, one pass over memory each.
//
// A launch takes one struct. Kernels see pointers and element counts, never tensors or modules, and split
// their work by position alone: no result depends on the number of threads. The math of one element lives in
// the headers beside this one (philox.h, normal.h, direction.h, adamw.h, soft_threshold.h, fake_quantize.h,
// pool_relu.h) and is shared with the GPU; the files in cpu/ only loop, vectorised with Highway and
// dispatched at run time to the best instruction set of the machine.
//
// T is float or double throughout.
#pragma once

#include <cstdint>
#include <vector>

namespace sadam::kernels {

/// What a direction is drawn from before it is scaled to length one.
enum class Distribution {
  normal,      ///< independent N(0, 1): scaled by 1/‖z‖, uniform on the sphere
  rademacher,  ///< independent ±1: scaled by 1/√d
};

/// Names one direction. Element e of it is a pure function of this and e (Philox4x32-10, counter based).
struct DirectionKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t probe = 0;  ///< below 65 536
};

/// A run of elements, contiguous in memory, whose first one has the global index `first` (below 2⁴⁸).
template <class T>
struct PerturbSegment {
  T* out = nullptr;         ///< w, written
  const T* base = nullptr;  ///< w₀, the snapshot
  std::int64_t count = 0;
  std::uint64_t first = 0;
  double scale = 0;  ///< δ/‖z‖: out = base + scale · z
};

/// out = base + scale · z, with z generated in registers.
template <class T>
struct Perturb {
  DirectionKey key;
  Distribution distribution = Distribution::normal;
  std::vector<PerturbSegment<T>> segments;
  int threads = 1;
};
template <class T>
void perturb(const Perturb<T>& launch);

template <class T>
struct DotSegment {
  const T* gradient = nullptr;
  std::int64_t count = 0;
  std::uint64_t first = 0;
  double scale = 0;  ///< 1/‖z‖
};

/// Σ gradient · scale · z, accumulated in double.
template <class T>
struct Dot {
  DirectionKey key;
  Distribution distribution = Distribution::normal;
  std::vector<DotSegment<T>> segments;
  int threads = 1;
};
template <class T>
double dot(const Dot<T>& launch);

/// Σ z² over the elements [first, first + count) of a normal direction. (A Rademacher one needs no pass: it
/// is `count`.)
struct SquaredNorm {
  DirectionKey key;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  int threads = 1;
};
double squared_norm(const SquaredNorm& launch);

/// out[i] = z of element first + i: a direction laid open, for tests and inspection.
template <class T>
struct Generate {
  DirectionKey key;
  Distribution distribution = Distribution::normal;
  T* out = nullptr;
  std::int64_t count = 0;
  std::uint64_t first = 0;
};
template <class T>
void generate(const Generate<T>& launch);

/// The scalars of one Adam update, in double; a kernel rounds each to T once. With r = root_scale·√v' + eps:
///   m' = beta1·m + (1−beta1)·g,   v' = beta2·v + (1−beta2)·g²,   w' = decay·w − step_size·m'/r.
/// The three forms of bias correction differ only in root_scale and step_size; the brake is inside step_size.
struct AdamCoefficients {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double root_scale = 1;
  double step_size = 0;
  double decay = 1;
};

template <class T>
struct AdamSegment {
  T* w = nullptr;
  T* m = nullptr;
  T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  AdamCoefficients coefficients;
};

/// The fused AdamW update: reads g, m, v, w once, writes m, v, w once.
template <class T>
struct AdamUpdate {
  std::vector<AdamSegment<T>> segments;
  int threads = 1;
};
template <class T>
void adam_update(const AdamUpdate<T>& launch);

template <class T>
struct AdamProbeSegment {
  T* out = nullptr;         ///< w, written
  const T* base = nullptr;  ///< w₀
  const T* m = nullptr;
  const T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  AdamCoefficients coefficients;  ///< decay is not used
};

/// out = base + Δ with Δ = −step_size·m'/r, the step Adam is about to take; returns ⟨g, Δ⟩, accumulated in
/// double. Neither m nor v is changed.
template <class T>
struct AdamProbe {
  std::vector<AdamProbeSegment<T>> segments;
  int threads = 1;
};
template <class T>
double adam_probe(const AdamProbe<T>& launch);

template <class T>
struct ProxSgdSegment {
  T* w = nullptr;
  T* buffer = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  double momentum = 0;
  double lr = 0;
  double threshold = 0;  ///< lr · l1
};

/// buffer' = momentum·buffer + g,   w' = soft(w − lr·buffer', threshold),   soft(x, τ) = sign(x)·max(|x| − τ,
/// 0).
template <class T>
struct ProxSgdUpdate {
  std::vector<ProxSgdSegment<T>> segments;
  int threads = 1;
};
template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch);

template <class T>
struct ConstSegment {
  const T* data = nullptr;
  std::int64_t count = 0;
};

/// How many elements are NaN or infinite.
template <class T>
struct CountNonFinite {
  std::vector<ConstSegment<T>> segments;
  int threads = 1;
};
template <class T>
std::int64_t count_non_finite(const CountNonFinite<T>& launch);

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

struct CopySegment {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
};

/// A multi-threaded memcpy of many pieces; no piece overlaps another.
struct Copy {
  std::vector<CopySegment> segments;
  int threads = 1;
};
void copy(const Copy& launch);

}  // namespace sadam::kernels
