// Labelled images: as bytes in memory, or read one at a time from wherever they lie, from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/folder.h"

namespace sadam::data {

/// `count` images of one size, each in three channels, one after the other, row by row: what readers of data
/// sets return.
struct Images {
  std::size_t count = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::int64_t classes = 0;
  std::vector<std::uint8_t> pixels;  ///< count · 3 · height · width
  std::vector<std::int64_t> labels;  ///< each in [0, classes)

  std::size_t bytes_per_image() const { return 3 * height * width; }
};

/// A labelled set of images of one size.
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

/// Decoded images are kept where all of them together take no more than this, so that only the first epoch
/// decodes.
inline constexpr std::size_t kKeptInMemory = std::size_t{4} << 30;

/// Every image is resized to `pixels` × `pixels`, whatever its shape was, as the experiments did.
std::shared_ptr<const ImageSet> folder_images(FolderPart part, std::int64_t classes, std::size_t pixels,
                                              std::size_t keep_up_to = kKeptInMemory);

/// Writes images [first, first + count) of the set to `out`, one after another, with so many threads. If some
/// cannot be read, throws the Error of the first of them.
void read_images(const ImageSet& images, std::size_t first, std::size_t count, std::uint8_t* out,
                 int threads);

/// Which images make a subset of `count`, in ascending order: the first image of each class, then the second
/// of each, and so on until there are enough (in the last round the classes with the lowest numbers); a class
/// that has no more is passed over. A pure function of its arguments; all of them if `count` is 0. `count`
/// must not exceed the number of labels.
std::vector<std::size_t> even_subset(std::span<const std::int64_t> labels, std::int64_t classes,
                                     std::size_t count);

Images subset(const Images& images, std::span<const std::size_t> chosen);
FolderPart subset(const FolderPart& part, std::span<const std::size_t> chosen);

/// (byte/255 − mean)/deviation, for red, green and blue.
struct Normalization {
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f};
  std::array<float, 3> deviation = {0.5f, 0.5f, 0.5f};
};

}  // namespace sadam::data
