// Images and labels as bytes: what every reader of a data set returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sadam::data {

/// `count` images of one size, each channel by channel, row by row.
struct Images {
  std::size_t count = 0;
  std::size_t channels = 3;
  std::size_t height = 0;
  std::size_t width = 0;
  std::int64_t classes = 0;
  std::vector<std::uint8_t> pixels;  ///< count · channels · height · width
  std::vector<std::int64_t> labels;  ///< each in [0, classes)

  std::size_t bytes_per_image() const { return channels * height * width; }
};

}  // namespace sadam::data
