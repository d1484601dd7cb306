// PNG files, decoded with libpng.
#pragma once

#include <cstddef>
#include <span>

#include "data/picture.h"

namespace sadam::data {

/// By its first bytes.
bool is_png(std::span<const std::byte> bytes);

/// Decodes a whole PNG file of any kind: grey and palettes become RGB, of 16 bits the upper 8 are taken,
/// alpha is dropped, as Pillow does when it converts to RGB. What is damaged or cut off is an Error: PNG has
/// checksums. In a build without libpng every file is one.
Picture decode_png(std::span<const std::byte> bytes, std::size_t max_pixels = kMostPicturePixels,
                   Read what = Read::everything);

}  // namespace sadam::data
