#include "data/image_set.h"

#include <sadam/error.h>

#include <string>

#include "data/resize.h"

namespace sadam::data {
namespace {

class InMemoryImages final : public ImageSet {
 public:
  InMemoryImages(Images images, std::size_t pixels)
      : images_(std::move(images)),
        pixels_(pixels),
        resizer_({images_.width, images_.height}, {pixels, pixels}) {}

  std::size_t size() const override { return images_.count; }
  std::int64_t classes() const override { return images_.classes; }
  std::size_t pixels() const override { return pixels_; }
  std::int64_t label(std::size_t i) const override { return images_.labels[i]; }
  void read(std::size_t i, std::uint8_t* out) const override {
    resizer_(images_.pixels.data() + i * images_.bytes_per_image(), out);
  }
  const Images* stored() const override { return &images_; }

 private:
  Images images_;
  std::size_t pixels_;
  Resizer resizer_;
};

}  // namespace

std::shared_ptr<const ImageSet> in_memory(Images images, std::size_t pixels) {
  if (images.channels != 3 || images.width == 0 || images.height == 0 || pixels == 0)
    throw Error("images need three channels and a size above 0, not " + std::to_string(images.channels) +
                " of " + std::to_string(images.width) + " x " + std::to_string(images.height) +
                ", to be made " + std::to_string(pixels) + " pixels wide.");
  if (images.pixels.size() != images.count * images.bytes_per_image() || images.labels.size() != images.count)
    throw Error("a set of " + std::to_string(images.count) + " images has " +
                std::to_string(images.pixels.size()) + " bytes and " + std::to_string(images.labels.size()) +
                " labels: these do not go together.");
  return std::make_shared<InMemoryImages>(std::move(images), pixels);
}

}  // namespace sadam::data
