#include "data/picture.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/file.h"

namespace sadam::data {

void check_picture_size(std::size_t width, std::size_t height, std::size_t max_pixels) {
  if (width != 0 && height > max_pixels / width)
    throw Error(fmt::format(
        "its header asks for {} x {} pixels, more than the {} that are decoded: it is damaged, or scale it "
        "down.",
        width, height, max_pixels));
}

void split_rgb_row(const std::uint8_t* row, std::size_t width, std::uint8_t* out, std::size_t plane) {
  for (std::size_t x = 0; x < width; ++x) {
    out[x] = row[3 * x];
    out[plane + x] = row[3 * x + 1];
    out[2 * plane + x] = row[3 * x + 2];
  }
}

Picture decode_picture(std::span<const std::byte> bytes, Read what) {
  return is_png(bytes) ? decode_png(bytes, kMostPicturePixels, what)
                       : decode_jpeg(bytes, kMostPicturePixels, what);
}

Picture decode_picture_file(const std::filesystem::path& path, Read what) {
  const auto bytes = base::read_file(path);
  return base::naming(path, [&] { return decode_picture(bytes, what); });
}

bool is_named_picture(std::string_view name) {
  constexpr std::array kExtensions = {".jpg", ".jpeg", ".png"};
  auto extension = std::filesystem::path(name).extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

}  // namespace sadam::data
