// Batches of normalised images, made ahead of time by worker threads. Which batches, and in which order,
// depends on the seed and the epoch alone, not on threads or timing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/image_set.h"

namespace sadam::data {

/// `size` images (size × 3 × pixels × pixels, normalised) and their labels.
struct Batch {
  std::size_t size = 0;
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};

struct LoaderOptions {
  std::size_t batch = 128;  ///< the last batch of an epoch may be smaller
  /// Several loaders share an epoch: this one has the part with this number, of so many. Parts of a batch lie
  /// one after the other and are as equal as can be; some of a small one are empty. Or batches stay whole and
  /// the parts take turns; all others are empty then.
  std::size_t part = 0;
  std::size_t parts = 1;
  bool parts_take_turns = false;
  bool shuffle = true;  ///< a new order in each epoch; else the set's own
  std::uint64_t seed = 0;
  int threads = 1;        ///< workers, at least 1
  std::size_t ahead = 4;  ///< batches made ahead, at least 1
  Normalization normalization;
};

class Loader {
 public:
  Loader(std::shared_ptr<const ImageSet> images, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Batches in an epoch.
  std::size_t batches() const;

  /// Begins epoch `epoch` with its batch number `first_batch` (both from 0), so that a resumed run sees what
  /// it would have seen. What was being made before is dropped.
  void start(std::size_t epoch, std::size_t first_batch = 0);

  /// After start(): fills `batch`, whose buffers are used again; false at the end of the epoch. An Error of a
  /// worker (a damaged file) is thrown here, at the batch it belongs to, and again until start(): nothing is
  /// skipped.
  bool next(Batch& batch);

 private:
  class Workers;
  std::unique_ptr<Workers> workers_;
};

/// Images [first, first + size) of the order of an epoch.
struct BatchRange {
  std::size_t first = 0;
  std::size_t size = 0;
};
/// Of a batch, where there are `count` images: the part of it that the options say. Nothing behind the last.
BatchRange range_of_batch(const LoaderOptions& options, std::size_t batch, std::size_t count);

/// The same options, if a loader can work with them; else throws an Error that says why not.
const LoaderOptions& checked_options(const LoaderOptions& options);

/// What a byte becomes, for each channel. In float throughout, as torchvision does, so that its bits are the
/// same.
using NormalizationTable = std::array<std::array<float, 256>, 3>;
NormalizationTable normalization_table(const Normalization& normalization);

/// The order of `count` images in an epoch: a Fisher–Yates shuffle on Philox, a pure function of its
/// arguments.
std::vector<std::uint32_t> shuffled_order(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

}  // namespace sadam::data
