// Many images of a set at once.
#pragma once

#include "data/image_set.h"

namespace sadam::data {

/// Writes images [first, first + count) of the set to `out`, one after another, with so many threads. If some
/// cannot be read, throws the Error of the first of them.
void read_images(const ImageSet& images, std::size_t first, std::size_t count, std::uint8_t* out,
                 int threads);

}  // namespace sadam::data
