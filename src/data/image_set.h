// A labelled set of images of one size, read one at a time from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/images.h"

namespace sadam::data {

class ImageSet {
 public:
  virtual ~ImageSet() = default;

  virtual std::size_t size() const = 0;
  virtual std::int64_t classes() const = 0;
  /// Width and height of every image; there are three channels.
  virtual std::size_t pixels() const = 0;
  /// In [0, classes()).
  virtual std::int64_t label(std::size_t i) const = 0;
  /// Writes image i to `out`: 3·pixels()·pixels() bytes, channel by channel, row by row. Throws an Error that
  /// names the file if it cannot be read. Called from several threads at once.
  virtual void read(std::size_t i, std::uint8_t* out) const = 0;
  /// The images that read() resizes, where all of them are in memory at their own size; else null.
  virtual const Images* stored() const { return nullptr; }

  std::size_t bytes_per_image() const { return 3 * pixels() * pixels(); }
};

/// Images that are in memory, resized to `pixels` on the way out where they have another size.
std::shared_ptr<const ImageSet> in_memory(Images images, std::size_t pixels);

/// (byte/255 − mean)/deviation, for red, green and blue.
struct Normalization {
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f};
  std::array<float, 3> deviation = {0.5f, 0.5f, 0.5f};
};

}  // namespace sadam::data
