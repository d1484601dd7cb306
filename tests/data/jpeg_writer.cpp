#include "data/jpeg_writer.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

// After <cstdio>, which it needs and does not include.
#include <jpeglib.h>

namespace sadam::data::samples {
namespace {

struct Channels {
  int count;
  J_COLOR_SPACE given;
  J_COLOR_SPACE stored;
};

Channels channels_of(Ink ink) {
  switch (ink) {
    case Ink::grey:
      return {1, JCS_GRAYSCALE, JCS_GRAYSCALE};
    case Ink::rgb:
      return {3, JCS_RGB, JCS_YCbCr};
    case Ink::cmyk:
      return {4, JCS_CMYK, JCS_CMYK};
    case Ink::ycck:
      return {4, JCS_CMYK, JCS_YCCK};
  }
  return {};
}

std::vector<jpeg_scan_info> scan_per_coefficient(int channels) {
  jpeg_scan_info first{};
  first.comps_in_scan = channels;
  for (int c = 0; c < channels; ++c) first.component_index[c] = c;
  std::vector<jpeg_scan_info> scans{first};
  for (int c = 0; c < channels; ++c)
    for (int k = 1; k < 64; ++k) scans.push_back({1, {c}, k, k, 0, 0});
  return scans;
}

}  // namespace

// libjpeg ends the program if anything goes wrong here, which is good enough for samples.
std::vector<std::byte> write_jpeg(const JpegOptions& options, const Pixel& pixel) {
  const auto channels = channels_of(options.ink);
  jpeg_error_mgr errors{};
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long length = 0;
  jpeg_mem_dest(&info, &buffer, &length);
  info.image_width = static_cast<JDIMENSION>(options.width);
  info.image_height = static_cast<JDIMENSION>(options.height);
  info.input_components = channels.count;
  info.in_color_space = channels.given;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, channels.stored);
  jpeg_set_quality(&info, options.quality, TRUE);
  for (int c = 0; c < channels.count; ++c)
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  const auto scans = scan_per_coefficient(channels.count);
  if (options.scans == Scans::progressive) jpeg_simple_progression(&info);
  if (options.scans == Scans::one_per_coefficient) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  const auto count = static_cast<std::size_t>(channels.count);
  std::vector<std::uint8_t> row(options.width * count);
  for (std::size_t y = 0; y < options.height; ++y) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = pixel(i / count, y, i % count);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owned(buffer, &std::free);
  const auto* const bytes = reinterpret_cast<const std::byte*>(buffer);
  return {bytes, bytes + length};
}

std::uint8_t slow_colours(std::size_t x, std::size_t y, std::size_t channel) {
  return static_cast<std::uint8_t>((40 + 3 * x * (channel + 1) + 2 * y * (3 - channel % 3)) % 200);
}

std::vector<std::byte> write_jpeg(const JpegOptions& options) { return write_jpeg(options, slow_colours); }

}  // namespace sadam::data::samples
