#include "data/picture.h"

#include <fmt/format.h>
#include <sadam/error.h>

#include <algorithm>
#include <array>
#include <string>

#ifdef SADAM_HAVE_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>
#endif

namespace sadam::data {

bool is_png(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin(),
                    [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

#ifndef SADAM_HAVE_PNG

Picture decode_png(std::span<const std::byte>, std::size_t, Read) {
  throw Error("it is a PNG file, and this program was built without libpng: convert it to JPEG.");
}

#else

namespace {

// As in jpeg.cpp: errors jump back, so every function here that calls libpng sets the target of the jump
// first and has no local variable that would need a destructor.
class PngDecoder {
 public:
  explicit PngDecoder(std::span<const std::byte> bytes) : rest_(bytes) {}
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // These return false where libpng gave up; reason() then says why.
  bool read_header() {
    if (setjmp(target_) != 0) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, give_up, pass_over);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    png_set_read_fn(png_, this, read_bytes);
    // What is neither picture nor palette is of no use here. libpng would take the memory that a damaged text
    // chunk says it needs before it has seen a byte of it.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
    png_read_info(png_, info_);
    return true;
  }
  bool start() {
    if (setjmp(target_) != 0) return false;
    const auto kind = png_get_color_type(png_, info_);
    if (png_get_bit_depth(png_, info_) == 16) png_set_strip_16(png_);
    if (kind == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if ((kind & PNG_COLOR_MASK_COLOR) == 0) {
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_gray_to_rgb(png_);
    }
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return png_get_rowbytes(png_, info_) == 3 * width();
  }
  /// Red, green, blue, red, …; of an interlaced file every row comes with the last pass.
  bool read(png_bytepp rows) {
    if (setjmp(target_) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  std::size_t width() const { return png_get_image_width(png_, info_); }
  std::size_t height() const { return png_get_image_height(png_, info_); }
  std::string reason() const { return reason_[0] == '\0' ? "out of memory" : reason_.data(); }

 private:
  static constexpr std::size_t kMostChunkBytes = std::size_t{8} << 20;

  [[noreturn]] static void give_up(png_structp png, png_const_charp why) {
    auto* const self = static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(self->reason_.data(), why, self->reason_.size() - 1);
    std::longjmp(self->target_, 1);
  }
  static void pass_over(png_structp, png_const_charp) {}
  static void read_bytes(png_structp png, png_bytep out, std::size_t count) {
    auto& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest_;
    if (count > rest.size()) png_error(png, "it ends early");
    std::memcpy(out, rest.data(), count);
    rest = rest.subspan(count);
  }

  std::span<const std::byte> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf target_{};
  std::array<char, 128> reason_{};
};

Error png_error_of(const PngDecoder& decoder) {
  return Error(
      fmt::format("libpng cannot decode it ({}): the file is damaged or cut off.", decoder.reason()));
}

}  // namespace

Picture decode_png(std::span<const std::byte> bytes, std::size_t max_pixels, Read what) {
  PngDecoder decoder(bytes);
  if (!decoder.read_header()) throw png_error_of(decoder);
  Picture picture{decoder.width(), decoder.height(), {}};
  check_picture_size(picture.width, picture.height, max_pixels);
  if (what == Read::size) return picture;
  if (!decoder.start()) throw png_error_of(decoder);
  const auto plane = picture.width * picture.height;
  std::vector<std::uint8_t> interleaved(3 * plane);
  std::vector<png_bytep> rows(picture.height);
  for (std::size_t y = 0; y < picture.height; ++y) rows[y] = interleaved.data() + 3 * y * picture.width;
  if (!decoder.read(rows.data())) throw png_error_of(decoder);
  picture.pixels.resize(3 * plane);
  split_rgb_row(interleaved.data(), plane, picture.pixels.data(), plane);
  return picture;
}

#endif

}  // namespace sadam::data
