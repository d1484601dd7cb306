#include "data/picture.h"

#include <gtest/gtest.h>

#include <array>

#include "data/jpeg_writer.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using samples::Ink;
using samples::JpegOptions;
using samples::Scans;
using samples::write_jpeg;

using Rgb = std::array<int, 3>;

Rgb colour_at(const Picture& picture, std::size_t x, std::size_t y) {
  const auto plane = picture.width * picture.height;
  const auto* const pixel = picture.pixels.data() + y * picture.width + x;
  return {pixel[0], pixel[plane], pixel[2 * plane]};
}

void expect_near(const Rgb& expected, const Rgb& actual, int tolerance, const std::string& where) {
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(expected[c], actual[c], tolerance) << where << ", channel " << c;
}

// Where the first marker 0xFF `marker` stands.
std::size_t position_of(const std::vector<std::byte>& bytes, int marker) {
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
    if (bytes[i] == std::byte{0xff} && bytes[i + 1] == static_cast<std::byte>(marker)) return i;
  ADD_FAILURE() << "no such marker";
  return 0;
}

std::string jpeg_refusal(std::span<const std::byte> bytes) {
  return refusal([&] { decode_jpeg(bytes); });
}

TEST(Jpeg, ColoursBecomePlanes) {
  const JpegOptions options{.width = 21, .height = 11, .quality = 100};
  const auto picture = decode_jpeg(write_jpeg(options));
  ASSERT_EQ(21u, picture.width);
  ASSERT_EQ(11u, picture.height);
  ASSERT_EQ(3u * 21 * 11, picture.pixels.size());
  for (std::size_t y = 0; y < 11; ++y)
    for (std::size_t x = 0; x < 21; ++x)
      expect_near(
          {samples::slow_colours(x, y, 0), samples::slow_colours(x, y, 1), samples::slow_colours(x, y, 2)},
          colour_at(picture, x, y), 4, std::to_string(x) + " " + std::to_string(y));
}

TEST(Jpeg, GreyBecomesThreeEqualPlanes) {
  const auto picture = decode_jpeg(write_jpeg({.ink = Ink::grey, .quality = 100}));
  const auto [red, green, blue] = colour_at(picture, 9, 5);
  EXPECT_NEAR(samples::slow_colours(9, 5, 0), red, 3);
  EXPECT_EQ(red, green);
  EXPECT_EQ(red, blue);
}

TEST(Jpeg, InksBecomeColours) {
  struct Case {
    std::array<std::uint8_t, 4> stored;  // 255: none of this ink
    Rgb colour;
  };
  for (const auto ink : {Ink::cmyk, Ink::ycck})
    for (const auto& each : {Case{{255, 255, 255, 255}, {255, 255, 255}},
                             Case{{0, 255, 255, 255}, {0, 255, 255}}, Case{{255, 255, 0, 255}, {255, 255, 0}},
                             Case{{255, 255, 255, 0}, {0, 0, 0}}, Case{{200, 100, 50, 128}, {100, 50, 25}}}) {
      const auto bytes = write_jpeg({.ink = ink, .quality = 100},
                                    [&](std::size_t, std::size_t, std::size_t c) { return each.stored[c]; });
      expect_near(each.colour, colour_at(decode_jpeg(bytes), 3, 3), 3, std::to_string(each.stored[0]));
    }
}

TEST(Jpeg, ProgressiveIsTheSamePicture) {
  EXPECT_EQ(decode_jpeg(write_jpeg({.scans = Scans::one})).pixels,
            decode_jpeg(write_jpeg({.scans = Scans::progressive})).pixels);
}

TEST(Jpeg, EveryTruncationIsRefused) {
  for (const auto scans : {Scans::one, Scans::progressive}) {
    const auto whole = write_jpeg({.width = 24, .height = 24, .scans = scans});
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_NE("", jpeg_refusal(std::span(whole).first(length))) << length << " of " << whole.size();
  }
}

TEST(Jpeg, DataThatEndsEarlyIsNoGreyArea) {
  auto bytes = write_jpeg({.width = 64, .height = 64});
  // An end marker in the middle of the picture: libjpeg alone would fill the rest with grey.
  const auto middle = (position_of(bytes, 0xda) + bytes.size()) / 2;
  bytes[middle] = std::byte{0xff};
  bytes[middle + 1] = std::byte{0xd9};
  EXPECT_TRUE(says(jpeg_refusal(bytes), "damaged")) << jpeg_refusal(bytes);
}

TEST(Jpeg, BytesLeftOverBeforeTheEndAreNoDamage) {
  const auto clean = write_jpeg({});
  auto bytes = clean;
  bytes.insert(bytes.end() - 2, 300, std::byte{0x11});  // more than libjpeg reads ahead
  bytes.insert(bytes.end(), 9, std::byte{0x22});
  EXPECT_EQ(decode_jpeg(clean).pixels, decode_jpeg(bytes).pixels);
}

TEST(Jpeg, APictureWithoutItsEndMarkerIsRefused) {
  auto bytes = write_jpeg({});
  bytes.erase(bytes.end() - 2, bytes.end());
  bytes.insert(bytes.end(), 300, std::byte{0x11});
  EXPECT_TRUE(says(jpeg_refusal(bytes), "remature end")) << jpeg_refusal(bytes);
}

TEST(Jpeg, ASizeThatTheHeaderClaimsIsNotBelieved) {
  auto bytes = write_jpeg({});
  const auto frame = position_of(bytes, 0xc0);
  for (const std::size_t i : {5, 6, 7, 8}) bytes[frame + i] = std::byte{0xf0};  // 61680 x 61680
  EXPECT_TRUE(says(jpeg_refusal(bytes), "61680 x 61680")) << jpeg_refusal(bytes);
}

TEST(Jpeg, TheLimitIsOnThePixels) {
  const auto bytes = write_jpeg({.width = 20, .height = 10});
  EXPECT_EQ(20u, decode_jpeg(bytes, 200).width);
  EXPECT_TRUE(says(refusal([&] { decode_jpeg(bytes, 199); }), "199"));
}

TEST(Jpeg, EndlessScansAreRefused) {
  const auto bytes = write_jpeg({.scans = Scans::one_per_coefficient});
  EXPECT_TRUE(says(jpeg_refusal(bytes), "scans")) << jpeg_refusal(bytes);
}

TEST(Jpeg, OtherFilesAreRefused) {
  const std::string text = "no picture at all";
  EXPECT_TRUE(says(jpeg_refusal(std::as_bytes(std::span(text))), "neither JPEG nor PNG"));
}

}  // namespace
}  // namespace sadam::data
