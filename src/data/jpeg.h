// JPEG files, decoded with libjpeg.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sadam::data {

/// One decoded picture: red, green and blue planes, each row by row.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;  ///< 3 · height · width
};

/// The largest picture that is decoded: room for every image of ImageNet, and no more memory than 200 MB for
/// whatever a damaged header asks.
inline constexpr std::size_t kMostPicturePixels = std::size_t{1} << 26;

/// Decodes a whole JPEG file. Grey and CMYK pictures become RGB, the latter by Adobe's convention, as Pillow
/// does. Anything that costs pixels (data that ends early, codes that do not exist) is an Error and never a
/// grey area. Bytes left over between the picture and the end marker are passed over: ImageNet has such
/// files. JPEG has no checksum, so a damaged byte can also go unseen.
Picture decode_jpeg(std::span<const std::byte> bytes, std::size_t max_pixels = kMostPicturePixels);

/// One file, read and decoded. The sentence of an Error begins with the path.
Picture decode_jpeg_file(const std::filesystem::path& path);

}  // namespace sadam::data
