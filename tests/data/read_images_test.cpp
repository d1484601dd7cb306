#include "data/image_set.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/refusal.h"

namespace sadam::data {
namespace {

/// Image i is made of the byte i; some cannot be read.
class BytesOfTheirNumber : public ImageSet {
 public:
  explicit BytesOfTheirNumber(std::vector<std::size_t> damaged) : damaged_(std::move(damaged)) {}
  std::size_t size() const override { return 100; }
  std::int64_t classes() const override { return 1; }
  std::size_t pixels() const override { return 2; }
  std::int64_t label(std::size_t) const override { return 0; }
  void read(std::size_t i, std::uint8_t* out) const override {
    for (const auto damaged : damaged_)
      if (i == damaged) throw Error("image " + std::to_string(i) + " is damaged.");
    std::fill_n(out, bytes_per_image(), static_cast<std::uint8_t>(i));
  }

 private:
  std::vector<std::size_t> damaged_;
};

TEST(ReadImages, PutsEachInItsPlaceWithAnyNumberOfThreads) {
  for (const int threads : {1, 3, 200}) {
    std::vector<std::uint8_t> out(40 * 12 + 1, 255);
    read_images(BytesOfTheirNumber({}), 50, 40, out.data(), threads);
    for (std::size_t i = 0; i < 40 * 12; ++i) ASSERT_EQ(50 + i / 12, out[i]);
    EXPECT_EQ(255, out.back());
  }
}

TEST(ReadImages, NoneAreWrittenWhereNoneAreWanted) {
  std::uint8_t out = 7;
  read_images(BytesOfTheirNumber({0}), 0, 0, &out, 4);
  EXPECT_EQ(7, out);
}

TEST(ReadImages, TheFirstImageThatCannotBeReadIsNamed) {
  std::vector<std::uint8_t> out(100 * 12);
  const BytesOfTheirNumber images({31, 30, 32, 99});
  for (int round = 0; round < 50; ++round)
    EXPECT_EQ("image 30 is damaged.",
              sadam::testing::refusal([&] { read_images(images, 0, 100, out.data(), 4); }));
}

}  // namespace
}  // namespace sadam::data
