// Picture files, JPEG or PNG, told apart by their first bytes whatever they are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sadam::data {

/// One decoded picture: red, green and blue planes, each row by row.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;  ///< 3 · height · width; empty where only the size was read
};

/// The largest picture that is decoded: room for every image of ImageNet, and no more memory than 200 MB for
/// whatever a damaged header asks.
inline constexpr std::size_t kMostPicturePixels = std::size_t{1} << 26;

/// Throws the Error of a picture that has more pixels than are decoded.
void check_picture_size(std::size_t width, std::size_t height, std::size_t max_pixels);

/// Puts a row of red, green, blue, red, … where it belongs in the planes, which are `plane` bytes each.
void split_rgb_row(const std::uint8_t* row, std::size_t width, std::uint8_t* out, std::size_t plane);

enum class Read { everything, size };

/// Decodes a whole JPEG file. Grey and CMYK pictures become RGB, the latter by Adobe's convention, as Pillow
/// does. Anything that costs pixels (data that ends early, codes that do not exist) is an Error and never a
/// grey area. Bytes left over between the picture and the end marker are passed over: ImageNet has such
/// files. JPEG has no checksum, so a damaged byte can also go unseen.
Picture decode_jpeg(std::span<const std::byte> bytes, std::size_t max_pixels = kMostPicturePixels,
                    Read what = Read::everything);

/// By its first bytes.
bool is_png(std::span<const std::byte> bytes);

/// Decodes a whole PNG file of any kind: grey and palettes become RGB, of 16 bits the upper 8 are taken,
/// alpha is dropped, as Pillow does when it converts to RGB. What is damaged or cut off is an Error: PNG has
/// checksums. In a build without libpng every file is one.
Picture decode_png(std::span<const std::byte> bytes, std::size_t max_pixels = kMostPicturePixels,
                   Read what = Read::everything);

/// decode_jpeg() or decode_png() of the bytes; of other formats an Error.
Picture decode_picture(std::span<const std::byte> bytes, Read what = Read::everything);

/// One file, read and decoded. The sentence of an Error begins with the path.
Picture decode_picture_file(const std::filesystem::path& path, Read what = Read::everything);

/// Whether a file is a picture by its name.
bool is_named_picture(std::string_view name);
/// ".jpg, .jpeg or .png"
inline constexpr std::string_view kPictureNames = ".jpg, .jpeg or .png";

}  // namespace sadam::data
