#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "support/refusal.h"

namespace sadam::data {
namespace {

Images synthetic(std::int64_t classes, std::size_t count, bool test = false, std::uint64_t seed = 0) {
  SyntheticOptions options;
  options.classes = classes;
  options.count = count;
  options.test = test;
  options.seed = seed;
  return make_synthetic(options);
}

std::vector<std::uint8_t> picture(const Images& images, std::size_t i) {
  const auto begin = images.pixels.begin() + static_cast<std::ptrdiff_t>(i * images.bytes_per_image());
  return {begin, begin + static_cast<std::ptrdiff_t>(images.bytes_per_image())};
}

// FNV-1a, 64 bits.
std::uint64_t checksum(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (const auto byte : bytes) sum = (sum ^ byte) * 1099511628211u;
  return sum;
}

TEST(Synthetic, HasTheShapeOfCifar) {
  for (const std::int64_t classes : {10, 100}) {
    const auto images = synthetic(classes, 7);
    EXPECT_EQ(7u, images.count);
    EXPECT_EQ(classes, images.classes);
    EXPECT_EQ(3072u, images.bytes_per_image());
    EXPECT_EQ(7u * 3072, images.pixels.size());
    EXPECT_EQ(7u, images.labels.size());
  }
  EXPECT_TRUE(synthetic(10, 0).pixels.empty());
}

// Accuracies recorded on one machine must mean the same on another.
TEST(Synthetic, HasTheSameBytesEverywhere) {
  EXPECT_EQ(0x012c6f180c31a927u, checksum(synthetic(10, 500).pixels));
  EXPECT_EQ(0xdc520004d88973b3u, checksum(synthetic(100, 500).pixels));
  EXPECT_EQ(0x7e2e9a6c250070c8u, checksum(synthetic(100, 500, true, 0x100000007).pixels));
}

TEST(Synthetic, ClassesAreBalanced) {
  for (const std::int64_t classes : {10, 100}) {
    auto labels = synthetic(classes, 300).labels;
    for (std::int64_t c = 0; c < classes; ++c)
      EXPECT_EQ(300 / classes, std::count(labels.begin(), labels.end(), c)) << c;
  }
}

TEST(Synthetic, FewerPicturesAreTheFirstOfMore) {
  const auto many = synthetic(100, 130);
  const auto few = synthetic(100, 30);
  EXPECT_TRUE(std::equal(few.pixels.begin(), few.pixels.end(), many.pixels.begin()));
}

TEST(Synthetic, NoPictureComesTwiceInTrainingTestOrOtherSeeds) {
  std::set<std::vector<std::uint8_t>> seen;
  for (const bool test : {false, true})
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
      for (const std::int64_t classes : {10, 100}) {
        const auto images = synthetic(classes, 200, test, seed);
        for (std::size_t i = 0; i < images.count; ++i) EXPECT_TRUE(seen.insert(picture(images, i)).second);
      }
}

using MeanPictures = std::vector<std::vector<double>>;

MeanPictures means_of_classes(const Images& images) {
  const auto classes = static_cast<std::size_t>(images.classes);
  MeanPictures means(classes, std::vector<double>(images.bytes_per_image()));
  for (std::size_t i = 0; i < images.count; ++i)
    for (std::size_t p = 0; p < images.bytes_per_image(); ++p)
      means[static_cast<std::size_t>(images.labels[i])][p] +=
          static_cast<double>(images.pixels[i * images.bytes_per_image() + p] * classes) /
          static_cast<double>(images.count);
  return means;
}

std::size_t nearest_picture(const std::vector<double>& picture, const MeanPictures& others) {
  std::vector<double> distances;
  for (const auto& other : others)
    distances.push_back(std::inner_product(picture.begin(), picture.end(), other.begin(), 0.0, std::plus<>(),
                                           [](double a, double b) { return (a - b) * (a - b); }));
  return static_cast<std::size_t>(std::min_element(distances.begin(), distances.end()) - distances.begin());
}

// One distribution, in which classes differ.
TEST(Synthetic, MeanPicturesOfTrainingAndTestBelongTogether) {
  const auto train = means_of_classes(synthetic(100, 2000));
  const auto test = means_of_classes(synthetic(100, 2000, true));
  int together = 0;
  for (std::size_t c = 0; c < 100; ++c) together += nearest_picture(train[c], test) == c;
  EXPECT_GE(together, 50);  // of 100; by chance it would be one
}

TEST(Synthetic, PicturesUseTheWholeRangeOfBrightness) {
  // Two-bit quantization sees three levels: dark, middle and bright all have to be there.
  const auto pixels = synthetic(100, 1000).pixels;
  const auto share = [&](auto chosen) {
    return static_cast<double>(std::count_if(pixels.begin(), pixels.end(), chosen)) /
           static_cast<double>(pixels.size());
  };
  EXPECT_GT(share([](int p) { return p < 85; }), 0.15);
  EXPECT_GT(share([](int p) { return p >= 85 && p < 170; }), 0.15);
  EXPECT_GT(share([](int p) { return p >= 170; }), 0.15);
}

TEST(Synthetic, OtherNumbersOfClassesAreRefused) {
  for (const std::int64_t classes : {-1, 0, 1, 11, 1000})
    EXPECT_TRUE(sadam::testing::says(testing::refusal([&] { synthetic(classes, 1); }),
                                     std::to_string(classes) + " classes"));
}

}  // namespace
}  // namespace sadam::data
