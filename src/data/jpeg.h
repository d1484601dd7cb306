// JPEG files, decoded with libjpeg.
#pragma once

#include <cstddef>
#include <span>

#include "data/picture.h"

namespace sadam::data {

/// Decodes a whole JPEG file. Grey and CMYK pictures become RGB, the latter by Adobe's convention, as Pillow
/// does. Anything that costs pixels (data that ends early, codes that do not exist) is an Error and never a
/// grey area. Bytes left over between the picture and the end marker are passed over: ImageNet has such
/// files. JPEG has no checksum, so a damaged byte can also go unseen.
Picture decode_jpeg(std::span<const std::byte> bytes, std::size_t max_pixels = kMostPicturePixels,
                    Read what = Read::everything);

}  // namespace sadam::data
