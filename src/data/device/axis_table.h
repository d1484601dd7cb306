// The tables of a resizer as one array of numbers, which can be copied to a device.
#pragma once

#include <vector>

#include "data/device/gather.h"
#include "data/resize.h"

namespace sadam::data::device {

/// first, count, weights: one after another.
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
