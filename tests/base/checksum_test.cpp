#include "base/file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sadam::base {
namespace {

std::uint32_t bit_by_bit(std::span<const std::byte> bytes, std::uint32_t polynomial) {
  std::uint32_t crc = ~0U;
  for (const auto byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ polynomial : crc >> 1U;
  }
  return ~crc;
}

// The check values of the catalogues.
TEST(Crc32, KnownAnswers) {
  const std::string digits = "123456789";
  EXPECT_EQ(0xcbf43926U, crc32(std::as_bytes(std::span(digits))));
  EXPECT_EQ(0xe3069283U, crc32c(std::as_bytes(std::span(digits))));
  EXPECT_EQ(0U, crc32({}));
  EXPECT_EQ(0U, crc32c({}));
}

TEST(Crc32, AnyLengthAndAlignmentEqualsBitByBit) {
  std::vector<std::byte> bytes(80);
  std::uint32_t state = 1;
  for (auto& byte : bytes) byte = static_cast<std::byte>((state = state * 1664525U + 1013904223U) >> 24U);
  for (std::size_t offset = 0; offset < 9; ++offset) {
    for (std::size_t length = 0; offset + length <= bytes.size(); ++length) {
      const auto part = std::span(bytes).subspan(offset, length);
      ASSERT_EQ(bit_by_bit(part, 0xedb88320U), crc32(part)) << offset << " " << length;
      ASSERT_EQ(bit_by_bit(part, 0x82f63b78U), crc32c(part)) << offset << " " << length;
    }
  }
}

TEST(Crc32, TakesBytesInParts) {
  const std::string digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));
  for (std::size_t first = 0; first <= bytes.size(); ++first)
    EXPECT_EQ(0xcbf43926U, crc32(bytes.subspan(first), crc32(bytes.first(first)))) << first;
}

}  // namespace
}  // namespace sadam::base
