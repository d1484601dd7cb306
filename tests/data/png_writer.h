// PNG files for tests and for fuzzers to start from, written by hand: independent of libpng.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sadam::data::samples {

enum class PngKind : std::uint8_t { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

struct PngOptions {
  std::size_t width = 16;
  std::size_t height = 16;
  PngKind kind = PngKind::rgb;
  unsigned depth = 8;  ///< bits of a sample
  bool interlaced = false;
};

inline std::size_t channels_of(PngKind kind) {
  switch (kind) {
    case PngKind::rgb:
      return 3;
    case PngKind::grey_alpha:
      return 2;
    case PngKind::rgb_alpha:
      return 4;
    case PngKind::grey:
    case PngKind::palette:
      break;
  }
  return 1;
}

/// The sample of a channel at column x and row y, as it is stored: of so many bits, or a number of the
/// palette, whose colour i is (i, 2i, 3i) mod 256.
using Sample = std::function<unsigned(std::size_t x, std::size_t y, std::size_t channel)>;

inline std::vector<std::byte> write_png(const PngOptions& options, const Sample& sample) {
  std::vector<std::byte> file;
  const auto put = [&](std::string_view bytes) {
    for (const char c : bytes) file.push_back(static_cast<std::byte>(c));
  };
  const auto number = [](std::size_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 255);
    return bytes;
  };
  const auto chunk = [&](const std::string& name, const std::string& content) {
    const auto body = name + content;
    put(number(content.size()));
    put(body);
    put(number(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
  };
  put("\x89PNG\r\n\x1a\n");
  chunk("IHDR", number(options.width) + number(options.height) + static_cast<char>(options.depth) +
                    static_cast<char>(options.kind) + '\0' + '\0' + static_cast<char>(options.interlaced));
  if (options.kind == PngKind::palette) {
    std::string colours;
    for (int i = 0; i < 1 << options.depth; ++i)
      for (const int factor : {1, 2, 3}) colours += static_cast<char>(factor * i);
    chunk("PLTE", colours);
  }
  // Adam7: where each pass begins and how far it steps.
  struct Pass {
    std::size_t x, y, across, down;
  };
  const std::vector<Pass> passes =
      options.interlaced ? std::vector<Pass>{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                             {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
                         : std::vector<Pass>{{0, 0, 1, 1}};
  std::string rows;
  for (const auto& pass : passes)
    for (std::size_t y = pass.y; pass.x < options.width && y < options.height; y += pass.down) {
      rows += '\0';  // no filter
      unsigned held = 0;
      unsigned bits = 0;
      for (std::size_t x = pass.x; x < options.width; x += pass.across)
        for (std::size_t c = 0; c < channels_of(options.kind); ++c) {
          held = held << options.depth | sample(x, y, c);
          for (bits += options.depth; bits >= 8; bits -= 8)
            rows += static_cast<char>(held >> (bits - 8) & 255);
        }
      if (bits > 0) rows += static_cast<char>(held << (8 - bits) & 255);
    }
  auto size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
           static_cast<uLong>(rows.size()));
  packed.resize(size);
  chunk("IDAT", packed);
  chunk("IEND", "");
  return file;
}

/// Some picture of that kind.
inline std::vector<std::byte> write_png(const PngOptions& options = {}) {
  return write_png(options, [&](std::size_t x, std::size_t y, std::size_t c) {
    return static_cast<unsigned>(37 * x + 11 * y * y + 91 * c) % (1u << options.depth);
  });
}

}  // namespace sadam::data::samples
