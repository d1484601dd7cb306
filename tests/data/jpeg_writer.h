// JPEG files for tests and for fuzzers to start from, made with libjpeg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sadam::data::samples {

enum class Ink { grey, rgb, cmyk, ycck };
enum class Scans {
  one,
  progressive,
  one_per_coefficient,  ///< progressive, one scan for each coefficient of each channel: valid, and absurd
};

struct JpegOptions {
  std::size_t width = 16;
  std::size_t height = 16;
  Ink ink = Ink::rgb;
  Scans scans = Scans::one;
  int quality = 95;
};

/// The value of a channel at column x and row y, as it is stored: CMYK by Adobe's convention, 255 for no ink.
using Pixel = std::function<std::uint8_t(std::size_t x, std::size_t y, std::size_t channel)>;

std::vector<std::byte> write_jpeg(const JpegOptions& options, const Pixel& pixel);

/// A picture whose colours change slowly, so that little is lost.
std::vector<std::byte> write_jpeg(const JpegOptions& options = {});
std::uint8_t slow_colours(std::size_t x, std::size_t y, std::size_t channel);

}  // namespace sadam::data::samples
