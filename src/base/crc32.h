// Cyclic checksums, fast enough for files of hundreds of megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sadam::base {

/// The checksum of zip archives, zlib and PNG. To take bytes in parts, give each part the checksum of those
/// before it.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32C (Castagnoli): the checksum of iSCSI and of TensorBoard's files.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace sadam::base
