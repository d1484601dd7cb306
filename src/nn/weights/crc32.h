// The checksum of zip archives (polynomial 0xedb88320, reflected).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sadam::weights {

std::uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace sadam::weights
