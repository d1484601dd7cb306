#include "data/picture.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <string>

// These two come after <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

namespace sadam::data {
namespace {

// A progressive file may repeat scans over the whole picture at a few bytes each; real ones have about ten.
constexpr int kMostScans = 100;

// libjpeg reports errors by a callback that must not return, and an exception must not cross its C frames:
// the callback jumps back instead. So every function here that calls libjpeg sets the target of the jump
// first and has no local variable that would need a destructor.
class JpegDecoder {
 public:
  JpegDecoder() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;  // this and err are what jpeg_create_decompress leaves in place
    errors_.error_exit = &give_up;
    errors_.emit_message = &judge_message;
    progress_.progress_monitor = &watch_scans;
  }
  // Safe also before read_header, and after a failure: libjpeg looks whether there is anything to free.
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // These return false where libjpeg gave up; reason() then says why.
  bool read_header(std::span<const std::byte> bytes) {
    if (setjmp(target_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()),
                 static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(target_) != 0) return false;
    // libjpeg makes RGB of grey and of YCbCr itself; of the four-channel kinds it makes CMYK.
    info_.out_color_space = is_cmyk() ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool read_row(std::uint8_t* row) {
    if (setjmp(target_) != 0) return false;
    JSAMPROW rows[] = {row};
    jpeg_read_scanlines(&info_, rows, 1);
    return true;
  }
  bool finish() {
    if (setjmp(target_) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::size_t width() const { return info_.image_width; }
  std::size_t height() const { return info_.image_height; }
  bool is_cmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  std::string reason() const { return reason_.data(); }

 private:
  [[noreturn]] static void give_up(j_common_ptr info) {
    info->err->format_message(info, this_of(info)->reason_.data());
    std::longjmp(this_of(info)->target_, 1);
  }

  // libjpeg takes damage for a warning and goes on with grey; here it ends the reading.
  static void judge_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_ADOBE_XFORM:
      case JWRN_EXTRANEOUS_DATA:
      case JWRN_JFIF_MAJOR:
      case JWRN_NOT_SEQUENTIAL:
        return;
      default:
        give_up(info);
    }
  }

  static void watch_scans(j_common_ptr info) {
    auto* const self = this_of(info);
    if (self->info_.input_scan_number <= kMostScans) return;
    std::snprintf(self->reason_.data(), self->reason_.size(), "it has more than %d scans", kMostScans);
    std::longjmp(self->target_, 1);
  }

  static JpegDecoder* this_of(j_common_ptr info) { return static_cast<JpegDecoder*>(info->client_data); }

  jpeg_error_mgr errors_{};
  jpeg_decompress_struct info_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf target_{};
  std::array<char, JMSG_LENGTH_MAX> reason_{};
};

// What libjpeg says begins with a capital and ends without a full stop.
Error jpeg_error(const JpegDecoder& decoder) {
  return Error(
      fmt::format("libjpeg cannot decode it ({}): the file is damaged, cut off or neither JPEG nor PNG.",
                  decoder.reason()));
}

// a·b/255, rounded.
unsigned int scaled(unsigned int a, unsigned int b) {
  const unsigned int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// Adobe stores ink upside down: 255 is none.
void split_cmyk_row(const std::uint8_t* row, std::size_t width, std::uint8_t* out, std::size_t plane) {
  for (std::size_t x = 0; x < width; ++x) {
    const unsigned int light = row[4 * x + 3];
    for (std::size_t c = 0; c < 3; ++c)
      out[c * plane + x] = static_cast<std::uint8_t>(light - scaled(255u - row[4 * x + c], light));
  }
}

}  // namespace

Picture decode_jpeg(std::span<const std::byte> bytes, std::size_t max_pixels, Read what) {
  JpegDecoder decoder;
  if (!decoder.read_header(bytes)) throw jpeg_error(decoder);
  Picture picture{decoder.width(), decoder.height(), {}};
  check_picture_size(picture.width, picture.height, max_pixels);
  if (what == Read::size) return picture;
  if (!decoder.start()) throw jpeg_error(decoder);
  const std::size_t plane = picture.width * picture.height;
  picture.pixels.resize(3 * plane);
  std::vector<std::uint8_t> row((decoder.is_cmyk() ? 4 : 3) * picture.width);
  for (std::size_t y = 0; y < picture.height; ++y) {
    if (!decoder.read_row(row.data())) throw jpeg_error(decoder);
    auto* const out = picture.pixels.data() + y * picture.width;
    if (decoder.is_cmyk())
      split_cmyk_row(row.data(), picture.width, out, plane);
    else
      split_rgb_row(row.data(), picture.width, out, plane);
  }
  if (!decoder.finish()) throw jpeg_error(decoder);
  return picture;
}

}  // namespace sadam::data
