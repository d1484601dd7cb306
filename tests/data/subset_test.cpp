#include "data/image_set.h"

#include <gtest/gtest.h>

namespace sadam::data {
namespace {

using Chosen = std::vector<std::size_t>;
using Labels = std::vector<std::int64_t>;

TEST(Subset, TakesTheClassesInTurnAndKeepsTheOrder) {
  const Labels labels = {2, 2, 0, 0, 0, 1, 1, 2};
  EXPECT_EQ((Chosen{0, 2, 5}), even_subset(labels, 3, 3));
  EXPECT_EQ((Chosen{0, 2, 3, 5}), even_subset(labels, 3, 4));  // of the second round, the lowest class
  EXPECT_EQ((Chosen{0, 1, 2, 3, 5, 6}), even_subset(labels, 3, 6));
}

TEST(Subset, AClassThatHasNoMoreIsPassedOver) {
  const Labels labels = {0, 1, 1, 1, 1};
  EXPECT_EQ((Chosen{0, 1, 2, 3}), even_subset(labels, 2, 4));
}

TEST(Subset, NoneAskedForMeansAll) {
  const Labels labels = {1, 0, 1};
  EXPECT_EQ((Chosen{0, 1, 2}), even_subset(labels, 2, 0));
  EXPECT_EQ((Chosen{0, 1, 2}), even_subset(labels, 2, 3));
}

TEST(Subset, PixelsAndNamesGoWithTheirLabels) {
  Images images;
  images.count = 3;
  images.height = images.width = 1;
  images.classes = 3;
  images.pixels = {10, 11, 12, 20, 21, 22, 30, 31, 32};
  images.labels = {0, 1, 2};
  const auto two = subset(images, Chosen{0, 2});
  EXPECT_EQ(2u, two.count);
  EXPECT_EQ(3, two.classes);
  EXPECT_EQ((std::vector<std::uint8_t>{10, 11, 12, 30, 31, 32}), two.pixels);
  EXPECT_EQ((Labels{0, 2}), two.labels);

  const auto one = subset(FolderPart{"somewhere", {"a", "b"}, {0, 1}}, Chosen{1});
  EXPECT_EQ("somewhere/b", one.path(0).string());
  EXPECT_EQ((Labels{1}), one.labels);
}

}  // namespace
}  // namespace sadam::data
