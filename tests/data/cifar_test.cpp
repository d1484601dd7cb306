#include "data/cifar.h"

#include <gtest/gtest.h>
#include <sadam/error.h>

#include <fstream>

#include "support/files.h"
#include "support/refusal.h"

namespace sadam::data {
namespace {

// A record whose pixel p is (p + offset) mod 256.
std::vector<std::uint8_t> record(std::vector<std::uint8_t> labels, int offset) {
  auto bytes = std::move(labels);
  for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<std::uint8_t>(p + offset));
  return bytes;
}

std::vector<std::uint8_t> joined(const std::vector<std::vector<std::uint8_t>>& records) {
  std::vector<std::uint8_t> all;
  for (const auto& each : records) all.insert(all.end(), each.begin(), each.end());
  return all;
}

std::string refusal(const std::vector<std::uint8_t>& bytes, std::int64_t classes) {
  return sadam::testing::refusal([&] { read_cifar(bytes, classes); });
}

TEST(Cifar, TenHasOneLabel) {
  const auto images = read_cifar(joined({record({3}, 0), record({9}, 7)}), 10);
  EXPECT_EQ(2u, images.count);
  EXPECT_EQ(10, images.classes);
  EXPECT_EQ((std::vector<std::int64_t>{3, 9}), images.labels);
  EXPECT_EQ(2u * 3072, images.pixels.size());
  EXPECT_EQ(0, images.pixels[0]);
  EXPECT_EQ(7, images.pixels[3072]);
  EXPECT_EQ((3071 + 7) % 256, images.pixels.back());
}

TEST(Cifar, HundredTakesTheFineLabel) {
  const auto images = read_cifar(joined({record({19, 99}, 5), record({0, 0}, 1)}), 100);
  EXPECT_EQ((std::vector<std::int64_t>{99, 0}), images.labels);
  EXPECT_EQ(5, images.pixels[0]);
  EXPECT_EQ(100, images.classes);
}

TEST(Cifar, AnyOtherLengthIsRefused) {
  const auto whole = joined({record({1}, 0), record({2}, 0)});
  for (std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{3072}, std::size_t{3074}, whole.size() - 1}) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto sentence = refusal(cut, 10);
    EXPECT_NE(std::string::npos, sentence.find(std::to_string(length) + " bytes"))
        << length << ": " << sentence;
  }
}

TEST(Cifar, ALabelThatDoesNotExistIsRefused) {
  EXPECT_NE(std::string::npos,
            refusal(joined({record({1}, 0), record({10}, 0)}), 10).find("record 1 has label 10"));
  EXPECT_NE(std::string::npos, refusal(record({0, 100}, 0), 100).find("label 100"));
}

TEST(Cifar, FilesAreReadInOrderAndNamedWhenBad) {
  const sadam::testing::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<std::uint8_t>& bytes) {
    const auto path = (folder.path() / name).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  };
  const auto first = write("a.bin", record({4}, 0));
  const auto second = write("b.bin", joined({record({5}, 0), record({6}, 0)}));
  EXPECT_EQ((std::vector<std::int64_t>{4, 5, 6}), read_cifar_files({first, second}, 10).labels);
  const auto bad = write("bad.bin", {1, 2, 3});
  for (const auto& path : {bad, (folder.path() / "absent.bin").string()}) {
    const auto read = [&] { read_cifar_files({first, path}, 10); };
    EXPECT_TRUE(sadam::testing::says(sadam::testing::refusal(read), path));
  }
}

}  // namespace
}  // namespace sadam::data
