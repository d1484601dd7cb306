// How far a file had come when a checkpoint was made, and whether that much of it is still the same.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sadam::train {

struct FileMark {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 of that many bytes

  bool operator==(const FileMark&) const = default;
};

/// CRC-32 of the first bytes of a file. Throws an Error that names it if it has fewer.
std::uint32_t checksum_of_first(std::uint64_t bytes, const std::filesystem::path& path);

/// Throws an Error that names the file and the way out unless it still begins as it did at the mark. Changes
/// nothing.
void check_unchanged_since(const FileMark& mark, const std::filesystem::path& path);

}  // namespace sadam::train
