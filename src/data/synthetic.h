// The built-in set: pictures drawn from a seed, for experiments that need nothing from outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/image_set.h"

namespace sadam::data {

struct SyntheticOptions {
  std::int64_t classes = 10;  ///< 10 or 100
  std::size_t count = 50000;  ///< image i is of class i mod `classes`
  std::uint64_t seed = 0;
  bool test = false;  ///< drawn as the training images are, but from other random numbers
};

/// Pictures of 32 × 32 pixels in colour. The same bytes on every machine: all arithmetic is on integers.
/// Image i does not depend on `count`, so that fewer images are the first ones of more.
///
/// A picture shows one thing on a background, among smaller things that do not count. There are a hundred
/// looks, each a combination of a shape, a pattern and two colours of which no single one tells the look; a
/// look is often, but not always, seen on the same background. Place, size, turn, colours, contrast and noise
/// vary from picture to picture. A hundred classes are the looks; ten are groups of ten looks that have
/// neither a shape nor a colour to themselves. Pixels are meant to be normalised with mean 0.5 and deviation
/// 0.5.
Images make_synthetic(const SyntheticOptions& options);

}  // namespace sadam::data
