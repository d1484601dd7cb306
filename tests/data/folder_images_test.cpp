#include "data/image_set.h"
#include "data/picture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "data/jpeg_writer.h"
#include "data/resize.h"
#include "support/refusal.h"
#include "support/temporary_folder.h"

namespace sadam::data {
namespace {

using sadam::testing::refusal;
using sadam::testing::says;
using samples::write_jpeg;

std::vector<std::uint8_t> image_of(const ImageSet& set, std::size_t i) {
  std::vector<std::uint8_t> bytes(set.bytes_per_image());
  set.read(i, bytes.data());
  return bytes;
}

TEST(FolderImages, AreDecodedAndResizedWhateverTheirShape) {
  const TemporaryFolder folder;
  const auto file = write_jpeg({.width = 40, .height = 30});
  folder.write("a.jpg", file);
  folder.write("b.jpg", write_jpeg({.width = 8, .height = 8}));
  const auto set = folder_images({folder.path(), {"a.jpg", "b.jpg"}, {1, 0}}, 2, 16);
  EXPECT_EQ(2u, set->size());
  EXPECT_EQ(2, set->classes());
  EXPECT_EQ(16u, set->pixels());
  EXPECT_EQ(1, set->label(0));
  const auto picture = decode_jpeg(file);
  std::vector<std::uint8_t> expected(3 * 16 * 16);
  Resizer({40, 30}, {16, 16})(picture.pixels.data(), expected.data());
  EXPECT_EQ(expected, image_of(*set, 0));
  EXPECT_NE(expected, image_of(*set, 1));
}

TEST(FolderImages, AreDecodedOnceWhereAllOfThemFitMemory) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jpg", write_jpeg());
  const FolderPart part{folder.path(), {"a.jpg"}, {0}};
  const auto kept = folder_images(part, 1, 16, 3 * 16 * 16);
  const auto too_many = folder_images(part, 1, 16, 3 * 16 * 16 - 1);
  const auto before = image_of(*kept, 0);
  EXPECT_EQ(before, image_of(*too_many, 0));
  std::filesystem::remove(file);
  EXPECT_EQ(before, image_of(*kept, 0));
  EXPECT_TRUE(says(refusal([&] { image_of(*too_many, 0); }), file.string()));
}

TEST(FolderImages, ADamagedFileIsNamedAndMayBeMended) {
  const TemporaryFolder folder;
  auto bytes = write_jpeg();
  const auto file = folder.write("bad.jpg", std::span(bytes).first(bytes.size() / 2));
  const auto set = folder_images({folder.path(), {"bad.jpg"}, {0}}, 1, 16);
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_TRUE(says(refusal([&] { image_of(*set, 0); }), file.string()));
  folder.write("bad.jpg", bytes);
  EXPECT_EQ(decode_jpeg(bytes).pixels, image_of(*set, 0));
}

TEST(FolderImages, ManyThreadsSeeTheSameImages) {
  const TemporaryFolder folder;
  FolderPart part{folder.path(), {}, {}};
  std::vector<std::vector<std::uint8_t>> expected;
  for (std::size_t i = 0; i < 8; ++i) {
    part.files.push_back(std::to_string(i) + ".jpg");
    part.labels.push_back(0);
    const auto bytes = write_jpeg({.quality = static_cast<int>(20 + 10 * i)});
    folder.write(part.files.back(), bytes);
    expected.push_back(decode_jpeg(bytes).pixels);
  }
  const auto set = folder_images(part, 1, 16);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < 64; ++i)
          if (image_of(*set, i % 8) != expected[i % 8]) ++wrong;
      });
  }
  EXPECT_EQ(0, wrong);
}

TEST(InMemory, ImagesAreResizedOnTheWayOut) {
  Images images;
  images.count = 2;
  images.height = images.width = 2;
  images.classes = 5;
  images.pixels.assign(12, 7);
  for (std::uint8_t i = 0; i < 12; ++i) images.pixels.push_back(static_cast<std::uint8_t>(20 * i));
  images.labels = {4, 0};
  const auto same = in_memory(images, 2);
  EXPECT_EQ(5, same->classes());
  EXPECT_EQ(4, same->label(0));
  EXPECT_EQ(std::vector<std::uint8_t>(images.pixels.begin() + 12, images.pixels.end()), image_of(*same, 1));
  const auto larger = in_memory(images, 6);
  std::vector<std::uint8_t> expected(3 * 6 * 6);
  Resizer({2, 2}, {6, 6})(images.pixels.data() + 12, expected.data());
  EXPECT_EQ(expected, image_of(*larger, 1));
}

}  // namespace
}  // namespace sadam::data
