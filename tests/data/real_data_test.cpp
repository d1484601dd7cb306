// What can only be seen on the official files. They are looked for and never downloaded.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "data/data_set.h"

namespace sadam::data {
namespace {

std::filesystem::path real_data() {
  const char* const given = std::getenv("SADAM_TEST_DATA");
  return given != nullptr ? given : "../../data";
}

TEST(RealData, Cifar100IsWhole) {
  const auto root = real_data();
  if (!std::filesystem::exists(root / "cifar-100-binary"))
    GTEST_SKIP() << "no cifar-100-binary in " << root << " (SADAM_TEST_DATA is not its folder)";
  const auto set = open_data_set({.name = "cifar100", .root = root});
  EXPECT_EQ(50000u, set.train->size());
  EXPECT_EQ(10000u, set.test->size());
  std::vector<std::uint8_t> image(3072);
  set.train->read(0, image.data());
  EXPECT_EQ(19, set.train->label(0));
  EXPECT_EQ(424846, std::accumulate(image.begin(), image.end(), 0));
}

TEST(RealData, ImagewoofIsDecoded) {
  const auto root = real_data();
  if (!std::filesystem::exists(root / "imagewoof2-160"))
    GTEST_SKIP() << "no imagewoof2-160 in " << root << " (SADAM_TEST_DATA is not its folder)";
  const auto set = open_data_set({.name = "imagewoof", .root = root});
  EXPECT_EQ(9025u, set.train->size());
  EXPECT_EQ(3929u, set.test->size());
  std::vector<std::uint8_t> image(set.test->bytes_per_image());
  for (std::size_t i = 0; i < set.test->size(); i += 100) EXPECT_NO_THROW(set.test->read(i, image.data()));
}

}  // namespace
}  // namespace sadam::data
