// One number of a batch: the text that the kernel runs, and that the CPU runs to check it.
#pragma once

#include <vector>

#include "data/device/gather.h"
#include "data/resize.h"
#include "kernels/math.h"

namespace sadam::data::device {

/// The numbers of one image.
SADAM_HD std::int32_t image_elements(const Gather& launch) { return 3 * launch.pixels * launch.pixels; }

/// Which image of the set is image i of the batch.
SADAM_HD std::int64_t source_of(const Gather& launch, std::int64_t i) {
  const std::int64_t place = launch.first + i;
  return launch.order == nullptr ? place : static_cast<std::int64_t>(launch.order[place]);
}

/// Pixel (x, y) of a resized plane. Every row that counts is resized anew for each of its pixels: what is
/// read is in the cache, and where images grow there are three at most.
SADAM_HD std::uint8_t resized_byte(const Gather& launch, const std::uint8_t* plane, std::int32_t x,
                                   std::int32_t y) {
  const ResizeAxis& across = launch.across;
  const ResizeAxis& down = launch.down;
  const std::int32_t columns = across.count[x];
  const std::int32_t rows = down.count[y];
  const std::uint8_t* row = plane + down.first[y] * launch.width + across.first[x];
  std::int32_t sum = kHalfWeight;
  for (std::int32_t r = 0; r < rows; ++r, row += launch.width) {
    std::int32_t row_sum = kHalfWeight;
    for (std::int32_t j = 0; j < columns; ++j) row_sum += row[j] * across.weights[x * across.taps + j];
    sum += rounded_byte(row_sum) * down.weights[y * down.taps + r];
  }
  return rounded_byte(sum);
}

/// Number `element` of the batch's image that is image `source` of the set, counted as the result lies in
/// memory.
SADAM_HD float gathered_element(const Gather& launch, std::int64_t source, std::int32_t element) {
  const std::int32_t plane_size = launch.pixels * launch.pixels;
  const std::int32_t channel = launch.channels_last ? element % 3 : element / plane_size;
  const std::int32_t place = launch.channels_last ? element / 3 : element % plane_size;
  const std::int64_t stored_size = std::int64_t{launch.height} * launch.width;
  const std::uint8_t* const plane = launch.stored + (source * 3 + channel) * stored_size;
  const bool same_size = launch.width == launch.pixels && launch.height == launch.pixels;
  const std::uint8_t byte =
      same_size ? plane[place] : resized_byte(launch, plane, place % launch.pixels, place / launch.pixels);
  return launch.normalization[channel * 256 + byte];
}

/// The table of an axis as one array of numbers, which can be copied to a device: first, count, weights, one
/// after another.
inline std::vector<std::int32_t> packed(const Resizer::Axis& axis) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(2 * axis.first.size() + axis.weights.size());
  for (const auto first : axis.first) numbers.push_back(static_cast<std::int32_t>(first));
  for (const auto count : axis.count) numbers.push_back(static_cast<std::int32_t>(count));
  numbers.insert(numbers.end(), axis.weights.begin(), axis.weights.end());
  return numbers;
}

/// The axis whose packed numbers lie at `numbers`.
inline ResizeAxis axis_at(const std::int32_t* numbers, const Resizer::Axis& axis) {
  const auto outputs = axis.first.size();
  return {numbers, numbers + outputs, numbers + 2 * outputs, static_cast<std::int32_t>(axis.taps)};
}

}  // namespace sadam::data::device
