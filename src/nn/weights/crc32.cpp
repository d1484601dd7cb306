#include "nn/weights/crc32.h"

#include <array>
#include <cstring>

namespace sadam::weights {
namespace {

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Table k gives the effect of a byte that k more bytes follow: eight bytes at a time, then, instead of one,
/// which matters for files of hundreds of megabytes.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? 0xedb88320U : 0U);
    tables[0][i] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      const auto before = tables[k - 1][i];
      tables[k][i] = (before >> 8U) ^ tables[0][before & 0xffU];
    }
  }
  return tables;
}

constexpr CrcTables crc_tables = make_crc_tables();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= crc_tables[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (const auto byte : bytes) {
    crc = (crc >> 8U) ^ crc_tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}

}  // namespace sadam::weights
