#include "data/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/usage_error.h"

namespace sadam::data {
namespace {

TEST(Catalogue, EveryEntryIsWhole) {
  std::set<std::string> names;
  for (const auto& entry : catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(entry.url.starts_with("https://")) << entry.name;
    EXPECT_FALSE(entry.place.empty() || entry.title.empty() || entry.file_name().empty()) << entry.name;
    EXPECT_EQ(entry.place.find('/'), std::string::npos) << entry.name;
    EXPECT_EQ(entry.checksum.hex.size(), entry.checksum.hash == Hash::md5 ? 32U : 64U) << entry.name;
    EXPECT_EQ(entry.checksum.hex.find_first_not_of("0123456789abcdef"), std::string::npos) << entry.name;
    EXPECT_FALSE(entry.checksum.published_by.empty()) << entry.name;
  }
}

TEST(Catalogue, TheWeightsHaveTheDigestTheirNamePromises) {
  const auto& entry = catalogue_entry("resnet18");
  EXPECT_EQ(entry.file_name(), "resnet18-" + entry.checksum.hex.substr(0, 8) + ".pth");
}

TEST(Catalogue, SuggestsTheNearestName) {
  try {
    catalogue_entry("cifar1000");
    FAIL() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("cifar100"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sadam::data
