#include "base/crc32.h"

#include <array>
#include <bit>
#include <cstring>

namespace sadam::base {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes at a time are read as they lie");

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Table k gives the effect of a byte that k more bytes follow, so that eight bytes at a time can be taken
/// instead of one. The polynomial is written with its lowest power first.
constexpr CrcTables make_crc_tables(std::uint32_t polynomial) {
  CrcTables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? polynomial : 0U);
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

constexpr CrcTables crc32_tables = make_crc_tables(0xedb88320U);
constexpr CrcTables crc32c_tables = make_crc_tables(0x82f63b78U);

std::uint32_t checksum(std::span<const std::byte> bytes, const CrcTables& tables, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (const auto byte : bytes) {
    crc = (crc >> 8U) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return checksum(bytes, crc32_tables, before);
}

std::uint32_t crc32c(std::span<const std::byte> bytes) { return checksum(bytes, crc32c_tables, 0); }

}  // namespace sadam::base
