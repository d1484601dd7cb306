#include "data/resize.h"

#include <gtest/gtest.h>

namespace sadam::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Three planes with edges and slopes of every kind.
Bytes drawn(std::size_t width, std::size_t height) {
  Bytes image;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x)
        image.push_back(static_cast<std::uint8_t>(x * x * 3 + y * y * 5 + x * y * 7 + c * 31));
  return image;
}

Bytes resized(const Bytes& image, Resizer::Size from, Resizer::Size to) {
  Bytes out(3 * to.width * to.height);
  Resizer(from, to)(image.data(), out.data());
  return out;
}

std::uint64_t fnv1a(const Bytes& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const auto byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

// Recorded from Image.resize(size, BILINEAR) of Pillow 9.4 on the same pictures.
TEST(Resizer, EqualsPillow) {
  struct Case {
    std::size_t width, height, new_width, new_height;
    std::uint64_t hash;
  };
  for (const auto& each : {Case{32, 32, 224, 224, 0xcc9000fd8e7dfcf1u},
                           {160, 160, 224, 224, 0xe59b4c790bbdcaaau},
                           {64, 64, 160, 160, 0x42bb7d87596a40c7u},
                           {500, 375, 224, 224, 0x832880ff1cec549au},
                           {333, 500, 160, 160, 0x79706ef0179ae191u},
                           {97, 61, 32, 32, 0xd3969902368316c2u},
                           {2, 300, 7, 5, 0x51f529ea2c1a7796u},
                           {1, 1, 3, 3, 0xef92cc027f07aac2u},
                           {40, 40, 1, 1, 0xa327fa196f0b3b06u},
                           {64, 64, 64, 32, 0x37b676cc7d03f037u},
                           {224, 224, 32, 32, 0x5e3265c0a57ce353u}}) {
    const auto out =
        resized(drawn(each.width, each.height), {each.width, each.height}, {each.new_width, each.new_height});
    EXPECT_EQ(each.hash, fnv1a(out)) << each.width << "x" << each.height << " to " << each.new_width << "x"
                                     << each.new_height;
  }
}

TEST(Resizer, EqualsPillowNumberByNumber) {
  const auto smaller = resized(drawn(9, 7), {9, 7}, {4, 3});
  EXPECT_EQ((Bytes{15, 51, 115, 162, 71, 125, 138, 116, 150, 106, 120, 114}),
            Bytes(smaller.begin(), smaller.begin() + 12));
  const auto larger = resized(drawn(3, 2), {3, 2}, {5, 4});
  EXPECT_EQ((Bytes{0, 1, 3, 8, 12, 1, 3, 6, 12, 17, 4, 7, 12, 21, 26, 5, 9, 15, 25, 31}),
            Bytes(larger.begin(), larger.begin() + 20));
}

TEST(Resizer, TheSameSizeIsACopy) {
  const auto image = drawn(13, 8);
  EXPECT_EQ(image, resized(image, {13, 8}, {13, 8}));
}

TEST(Resizer, OneColourStaysThatColour) {
  for (const auto value : Bytes{0, 1, 127, 255})
    for (const Resizer::Size to : {Resizer::Size{3, 5}, {100, 70}, {1, 1}})
      EXPECT_EQ(Bytes(3 * to.width * to.height, value), resized(Bytes(3 * 31 * 17, value), {31, 17}, to));
}

}  // namespace
}  // namespace sadam::data
