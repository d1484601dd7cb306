// Bilinear resizing of byte images, equal to Pillow's, bit for bit: what torchvision does to pictures. The
// arithmetic is one text for the CPU's loops and for the GPU's kernel, which nvcc reads as C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/math.h"

namespace sadam::data {

// Weights are integers out of 2^22, so that 255 times their sum still fits 32 bits with room for rounding;
// each of the two passes rounds to a byte. These choices are Pillow's, and what makes the results equal.
constexpr int kWeightBits = 22;

/// What a sum of weighted bytes starts from, so that cutting its low bits off rounds.
constexpr std::int32_t kHalfWeight = std::int32_t{1} << (kWeightBits - 1);

SADAM_HD std::uint8_t rounded_byte(std::int32_t sum) {
  const std::int32_t whole = sum >> kWeightBits;
  return static_cast<std::uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
}

/// Makes images of one size out of images of another. When it shrinks, every pixel of the input counts (the
/// triangle is as wide as the ratio), so that nothing aliases.
class Resizer {
 public:
  struct Size {
    std::size_t width = 0;
    std::size_t height = 0;
    bool operator==(const Size& other) const { return width == other.width && height == other.height; }
  };

  /// No side may be 0.
  Resizer(Size from, Size to);

  /// `in` and `out` are three planes of the two sizes, row by row; they do not overlap. From any thread.
  void operator()(const std::uint8_t* in, std::uint8_t* out) const;

  /// Along one axis: pixel i of the output is a weighted mean of inputs first[i], first[i]+1, ...
  struct Axis {
    Axis(std::size_t from, std::size_t to);
    std::size_t taps = 0;  ///< room for the weights of one output, of which count[i] are used
    std::vector<std::size_t> first;
    std::vector<std::size_t> count;
    std::vector<std::int32_t> weights;
  };

  /// For those who resize elsewhere: along rows first, rounded to bytes, then along columns.
  const Axis& across() const { return across_; }
  const Axis& down() const { return down_; }

 private:
  template <std::size_t rows>
  void resize_rows(const std::uint8_t* in, std::uint8_t* out) const;
  template <std::size_t columns>
  void resize_columns(const std::uint8_t* in, std::uint8_t* out) const;

  Size from_;
  Size to_;
  Axis across_;
  Axis down_;
};

}  // namespace sadam::data
