// A file that grows record by record and can be cut back to where a checkpoint saw it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/descriptor.h"

namespace sadam::train {

class AppendFile {
 public:
  /// Cuts the file back to `keep` bytes; with keep = 0 makes it, or empties it.
  AppendFile(const std::filesystem::path& path, std::uint64_t keep);

  /// Hands the bytes to the system at once, so that they outlive this process. If they do not all fit, none
  /// stay.
  void append(std::span<const std::byte> bytes);

  /// Everything appended so far is on disk; returns the length of the file.
  std::uint64_t sync();

 private:
  std::filesystem::path path_;
  base::Descriptor file_;
  std::uint64_t length_ = 0;
  bool name_is_new_ = false;
};

}  // namespace sadam::train
