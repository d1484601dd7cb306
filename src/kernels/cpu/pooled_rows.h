// Where the rows of a pooled image come from.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace sadam::kernels {

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

}  // namespace sadam::kernels
