#include "data/picture.h"

#include <gtest/gtest.h>

#include "data/jpeg_writer.h"
#include "data/png_writer.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using samples::PngKind;
using samples::PngOptions;
using samples::write_png;

class Png : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef SADAM_HAVE_PNG
    GTEST_SKIP() << "built without libpng";
#endif
  }
};

// What a sample of the file must come out as, for red, green and blue.
unsigned expected(const PngOptions& options, const samples::Sample& sample, std::size_t x, std::size_t y,
                  std::size_t c) {
  switch (options.kind) {
    case PngKind::palette:
      return sample(x, y, 0) * static_cast<unsigned>(c + 1) & 255;
    case PngKind::grey:
    case PngKind::grey_alpha:
      c = 0;
      break;
    case PngKind::rgb:
    case PngKind::rgb_alpha:
      break;
  }
  const auto value = sample(x, y, c);
  // Black is 0 and white 255, whatever the depth; of 16 bits the upper ones count.
  return options.depth == 16 ? value >> 8 : value * 255 / ((1u << options.depth) - 1);
}

TEST_F(Png, EveryKindAndDepthComesOutAsRgb) {
  struct Case {
    PngKind kind;
    std::vector<unsigned> depths;
  };
  for (const auto& [kind, depths] : {Case{PngKind::grey, {1, 2, 4, 8, 16}}, Case{PngKind::rgb, {8, 16}},
                                     Case{PngKind::palette, {1, 2, 4, 8}}, Case{PngKind::grey_alpha, {8, 16}},
                                     Case{PngKind::rgb_alpha, {8, 16}}})
    for (const auto depth : depths)
      for (const bool interlaced : {false, true}) {
        const PngOptions options{
            .width = 13, .height = 7, .kind = kind, .depth = depth, .interlaced = interlaced};
        const samples::Sample sample = [&](std::size_t x, std::size_t y, std::size_t c) {
          return static_cast<unsigned>(7919 * x + 104729 * y + 1299709 * c) % (1u << depth);
        };
        const auto picture = decode_png(write_png(options, sample));
        ASSERT_EQ(13u, picture.width);
        ASSERT_EQ(7u, picture.height);
        for (std::size_t c = 0; c < 3; ++c)
          for (std::size_t y = 0; y < 7; ++y)
            for (std::size_t x = 0; x < 13; ++x)
              ASSERT_EQ(expected(options, sample, x, y, c), picture.pixels[(c * 7 + y) * 13 + x])
                  << static_cast<int>(kind) << " " << depth << " " << interlaced << ": " << x << " " << y;
      }
}

TEST_F(Png, WhatIsDamagedOrCutOffIsRefusedAtEveryByte) {
  const auto whole = write_png({.width = 5, .height = 3});
  for (std::size_t size = 8; size < whole.size(); ++size)
    EXPECT_TRUE(says(refusal([&] { decode_png(std::span(whole).first(size)); }), "libpng cannot decode it"))
        << size;
  for (std::size_t i = 8; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] ^= std::byte{0x10};
    EXPECT_TRUE(says(refusal([&] { decode_png(damaged); }), "libpng cannot decode it")) << i;
  }
}

TEST_F(Png, TheLimitIsOnThePixels) {
  const auto bytes = write_png({.width = 20, .height = 10});
  EXPECT_EQ(20u, decode_png(bytes, 200).width);
  EXPECT_TRUE(says(refusal([&] { decode_png(bytes, 199); }), "199"));
}

TEST_F(Png, ASizeIsReadWithoutThePicture) {
  auto bytes = write_png({.width = 20, .height = 10});
  bytes.resize(60);
  const auto size = decode_png(bytes, kMostPicturePixels, Read::size);
  EXPECT_EQ(20u, size.width);
  EXPECT_EQ(10u, size.height);
  EXPECT_TRUE(size.pixels.empty());
}

TEST_F(Png, FilesAreToldApartByWhatIsInThem) {
  const TemporaryFolder folder;
  const auto png = folder.write("a.jpg", write_png({.width = 6, .height = 4}));
  const auto jpeg = folder.write("b.png", samples::write_jpeg({.width = 9, .height = 4}));
  EXPECT_EQ(6u, decode_picture_file(png).width);
  EXPECT_EQ(9u, decode_picture_file(jpeg).width);
  EXPECT_EQ(9u, decode_picture_file(jpeg, Read::size).width);
}

}  // namespace
}  // namespace sadam::data
