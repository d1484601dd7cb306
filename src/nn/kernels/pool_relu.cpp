// A 2×2 max-pool with ReLU over images whose channels lie together: the lanes of a vector are channels.
#ifndef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/kernels/pool_relu.cpp"
#endif
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/both_types.h"
#include "kernels/cpu/lanes.h"
#include "nn/kernels/kernels.h"

SADAM_BEGIN_FORMULAS

/// Row r of the result, counted over all images, is made from two rows of the input. All sizes are in
/// elements.
struct PooledRows {
  std::size_t channels, width_out, row_in, row_out, height_in, height_out, count;

  explicit PooledRows(const PoolShape& shape)
      : channels(static_cast<std::size_t>(shape.channels)),
        width_out(static_cast<std::size_t>(shape.width) / 2),
        row_in(static_cast<std::size_t>(shape.width) * channels),
        row_out(width_out * channels),
        height_in(static_cast<std::size_t>(shape.height)),
        height_out(height_in / 2),
        count(static_cast<std::size_t>(shape.images) * height_out) {}

  /// Where the upper of the two begins.
  std::size_t above(std::size_t row) const {
    return (row / height_out * height_in + row % height_out * 2) * row_in;
  }
  /// Whether the next row of the input belongs to no window: the last of an odd number.
  bool is_last_before_rest(std::size_t row) const {
    return height_in % 2 != 0 && row % height_out == height_out - 1;
  }
};

/// The larger of two; NaN if one of them is.
template <class M>
SADAM_HD typename M::V larger(typename M::V a, typename M::V b) {
  const auto without_nan_in_a = M::select_le(b, a, a, b);
  return M::select_le(a, a, without_nan_in_a, a);
}

/// The four elements of a window, row by row.
template <class M>
struct Window {
  typename M::V a, b, c, d;
};

template <class M>
SADAM_HD typename M::V window_maximum(const Window<M>& x) {
  return larger<M>(larger<M>(x.a, x.b), larger<M>(x.c, x.d));
}

template <class M>
SADAM_HD typename M::V pool_relu_element(const Window<M>& x) {
  const auto maximum = window_maximum<M>(x);
  return M::select_le(maximum, M::set(0), M::set(0), maximum);
}

/// Hands the gradient to the first of the largest elements, if that is above zero. (A NaN in the window: to
/// the last.)
template <class M>
SADAM_HD Window<M> pool_relu_element_gradient(const Window<M>& x, typename M::V gradient) {
  const auto zero = M::set(0);
  const auto maximum = window_maximum<M>(x);
  auto left = M::select_le(maximum, zero, zero, gradient);
  Window<M> result;
  result.a = M::select_le(maximum, x.a, left, zero);
  left = M::select_le(maximum, x.a, zero, left);
  result.b = M::select_le(maximum, x.b, left, zero);
  left = M::select_le(maximum, x.b, zero, left);
  result.c = M::select_le(maximum, x.c, left, zero);
  result.d = M::select_le(maximum, x.c, zero, left);
  return result;
}

template <class T, std::size_t Ins>
HWY_INLINE Window<StepMath<T>> load_window(const std::array<const T*, Ins>& in, std::size_t l) {
  const StepTag<T> d;
  return {hn::LoadU(d, in[0] + l), hn::LoadU(d, in[1] + l), hn::LoadU(d, in[2] + l), hn::LoadU(d, in[3] + l)};
}

/// in: the window; out: its pooled value.
template <class T>
struct PoolStep {
  HWY_INLINE void operator()(const std::array<const T*, 4>& in, const std::array<T*, 1>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      hn::StoreU(pool_relu_element<StepMath<T>>(load_window(in, l)), d, out[0] + l);
    }
  }
};

/// in: the window, the gradient of its pooled value; out: the gradient of the window.
template <class T>
struct PoolGradientStep {
  HWY_INLINE void operator()(const std::array<const T*, 5>& in, const std::array<T*, 4>& out,
                             std::size_t) const {
    const StepTag<T> d;
    for (std::size_t l = 0; l < kStep; l += hn::Lanes(d)) {
      const auto gradient =
          pool_relu_element_gradient<StepMath<T>>(load_window(in, l), hn::LoadU(d, in[4] + l));
      hn::StoreU(gradient.a, d, out[0] + l);
      hn::StoreU(gradient.b, d, out[1] + l);
      hn::StoreU(gradient.c, d, out[2] + l);
      hn::StoreU(gradient.d, d, out[3] + l);
    }
  }
};

template <class T>
HWY_INLINE void pool_rows(const PoolRelu<T>& launch, const Chunk& of_rows) {
  const PooledRows rows(launch.shape);
  const std::size_t channels = rows.channels;
  const PoolStep<T> step;
  for (std::size_t row = of_rows.begin; row < of_rows.end; ++row) {
    const T* top = launch.in + rows.above(row);
    const T* bottom = top + rows.row_in;
    T* out = launch.out + row * rows.row_out;
    for (std::size_t x = 0; x < rows.width_out; ++x) {
      for_each_step<T, 4, 1>({top, top + channels, bottom, bottom + channels}, {out}, channels, step);
      top += 2 * channels;
      bottom += 2 * channels;
      out += channels;
    }
  }
}

template <class T>
HWY_INLINE void pool_gradient_rows(const PoolReluGradient<T>& launch, const Chunk& of_rows) {
  const PooledRows rows(launch.shape);
  const std::size_t channels = rows.channels;
  const PoolGradientStep<T> step;
  for (std::size_t row = of_rows.begin; row < of_rows.end; ++row) {
    const T* top = launch.in + rows.above(row);
    const T* bottom = top + rows.row_in;
    T* top_gradient = launch.in_gradient + rows.above(row);
    T* const row_end = top_gradient + rows.row_in;
    T* bottom_gradient = row_end;
    const T* out_gradient = launch.out_gradient + row * rows.row_out;
    for (std::size_t x = 0; x < rows.width_out; ++x) {
      for_each_step<T, 5, 4>(
          {top, top + channels, bottom, bottom + channels, out_gradient},
          {top_gradient, top_gradient + channels, bottom_gradient, bottom_gradient + channels}, channels,
          step);
      top += 2 * channels;
      bottom += 2 * channels;
      top_gradient += 2 * channels;
      bottom_gradient += 2 * channels;
      out_gradient += channels;
    }
    // What an odd width or height leaves over belongs to no window.
    std::fill(top_gradient, row_end, T{0});
    std::fill(bottom_gradient, row_end + rows.row_in, T{0});
    if (rows.is_last_before_rest(row)) std::fill_n(row_end + rows.row_in, rows.row_in, T{0});
  }
}

SADAM_NAME_LOOP(pool_rows, PoolRelu)
SADAM_NAME_LOOP(pool_gradient_rows, PoolReluGradient)

SADAM_END_FORMULAS

#if HWY_ONCE
namespace sadam::kernels {

SADAM_EXPORT_LOOP(pool_rows, PoolRelu)
SADAM_EXPORT_LOOP(pool_gradient_rows, PoolReluGradient)

namespace {

/// Calls run(rows) for ranges of rows of the result.
template <class Run>
void for_rows(const PoolShape& shape, int threads, const Run& run) {
  const HWY_NAMESPACE::PooledRows rows(shape);
  if (rows.row_out == 0) return;
  Chunks chunks;
  chunks.add(0, rows.count * rows.row_out, 0,
             std::max<std::uint64_t>(1, kChunk / rows.row_out) * rows.row_out);
  chunks.for_each(threads, [&](std::size_t, const Chunk& chunk) {
    run(Chunk{0, chunk.begin / rows.row_out, chunk.end / rows.row_out});
  });
}

}  // namespace

template <class T>
void pool_relu(const PoolRelu<T>& launch) {
  for_rows(launch.shape, launch.threads, [&](const Chunk& of_rows) { best_pool_rows(launch, of_rows); });
}
template void pool_relu(const PoolRelu<float>&);
template void pool_relu(const PoolRelu<double>&);

template <class T>
void pool_relu_gradient(const PoolReluGradient<T>& launch) {
  for_rows(launch.shape, launch.threads,
           [&](const Chunk& of_rows) { best_pool_gradient_rows(launch, of_rows); });
}
template void pool_relu_gradient(const PoolReluGradient<float>&);
template void pool_relu_gradient(const PoolReluGradient<double>&);

}  // namespace sadam::kernels
#endif
