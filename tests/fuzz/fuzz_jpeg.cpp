#include <cstdlib>

#include <sadam/error.h>
#include "data/picture.h"
#include "data/resize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace images = sadam::data;
  constexpr std::size_t kMostPixels = 1 << 16;  // small pictures, so that many are tried
  try {
    const auto picture = images::decode_jpeg(std::as_bytes(std::span(data, size)), kMostPixels);
    const auto plane = picture.width * picture.height;
    if (plane == 0 || plane > kMostPixels || picture.pixels.size() != 3 * plane) std::abort();
    std::vector<std::uint8_t> small(3 * 8 * 8);
    images::Resizer({picture.width, picture.height}, {8, 8})(picture.pixels.data(), small.data());
  } catch (const sadam::Error&) {
  }
  return 0;
}
