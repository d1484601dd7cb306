// What a gather must make, by the CPU's loader, and what it is made from.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "data/device/gather_element.h"
#include "data/loader.h"
#include "data/random.h"

namespace sadam::data::device {

struct GatherCase {
  std::size_t width, height, pixels, images, batch;
  bool channels_last;
};

inline std::ostream& operator<<(std::ostream& out, const GatherCase& c) {
  return out << c.width << "x" << c.height << " to " << c.pixels << ", " << c.images << " images by "
             << c.batch << (c.channels_last ? ", channels last" : "");
}

/// The same size, growing, shrinking, both; batches that do not divide the set, a batch of one, one of all.
inline std::vector<GatherCase> gather_cases() {
  std::vector<GatherCase> cases;
  for (const bool last : {false, true})
    for (const auto& c : {GatherCase{32, 32, 32, 101, 16, last},
                          {32, 32, 224, 7, 3, last},
                          {160, 160, 64, 9, 4, last},
                          {97, 61, 33, 5, 1, last},
                          {20, 300, 50, 4, 64, last},
                          {64, 32, 64, 3, 2, last},
                          {40, 40, 1, 5, 2, last},
                          {1, 1, 3, 3, 3, last}})
      cases.push_back({c.width, c.height, c.pixels, c.images, c.batch, last});
  return cases;
}

/// Images of random bytes.
inline Images random_images(const GatherCase& c) {
  Images images;
  images.count = c.images;
  images.width = c.width;
  images.height = c.height;
  images.classes = 1000;
  Random random(3, Purpose::shuffle, 1);
  for (std::size_t i = 0; i < c.images * images.bytes_per_image(); ++i)
    images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  for (std::size_t i = 0; i < c.images; ++i) images.labels.push_back(random.below(1000));
  return images;
}

struct GatherSample {
  explicit GatherSample(const GatherCase& c)
      : shape(c),
        set(in_memory(random_images(c), c.pixels)),
        resizer({c.width, c.height}, {c.pixels, c.pixels}),
        across(packed(resizer.across())),
        down(packed(resizer.down())) {
    options.batch = c.batch;
    options.seed = 5;
    options.normalization = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
    table = normalization_table(options.normalization);
    order = shuffled_order(c.images, options.seed, kEpoch);
  }

  /// The loader's batches of an epoch, in the layout of the case.
  std::vector<Batch> expected() const {
    Loader loader(set, options);
    loader.start(kEpoch);
    std::vector<Batch> batches;
    for (Batch batch; loader.next(batch);) {
      if (shape.channels_last) put_channels_last(batch);
      batches.push_back(batch);
    }
    return batches;
  }

  static constexpr std::size_t kEpoch = 2;
  GatherCase shape;
  std::shared_ptr<const ImageSet> set;
  Resizer resizer;
  std::vector<std::int32_t> across;
  std::vector<std::int32_t> down;
  LoaderOptions options;
  NormalizationTable table;
  std::vector<std::uint32_t> order;

 private:
  void put_channels_last(Batch& batch) const {
    const auto plane = shape.pixels * shape.pixels;
    const auto from = batch.images;
    for (std::size_t i = 0; i < batch.size; ++i)
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t at = 0; at < plane; ++at)
          batch.images[(i * plane + at) * 3 + c] = from[(i * 3 + c) * plane + at];
  }
};

}  // namespace sadam::data::device
