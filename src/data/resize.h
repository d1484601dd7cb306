// Bilinear resizing of byte images, equal to Pillow's, bit for bit: what torchvision does to pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sadam::data {

/// Makes images of one size out of images of another. When it shrinks, every pixel of the input counts (the
/// triangle is as wide as the ratio), so that nothing aliases.
class Resizer {
 public:
  struct Size {
    std::size_t width = 0;
    std::size_t height = 0;
    bool operator==(const Size&) const = default;
  };

  /// No side may be 0.
  Resizer(Size from, Size to);

  /// `in` and `out` are `planes` planes of the two sizes, row by row; they do not overlap. From any thread.
  void operator()(const std::uint8_t* in, std::uint8_t* out, std::size_t planes = 3) const;

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
