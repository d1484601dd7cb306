// A file that grows record by record and can be cut back to where a checkpoint saw it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/descriptor.h"
#include "train/record/file_mark.h"

namespace sadam::train {

class AppendFile {
 public:
  /// Cuts the file back to `keep` bytes; with keep = 0 makes it, or empties it.
  AppendFile(const std::filesystem::path& path, std::uint64_t keep);

  /// Hands the bytes to the system at once, so that they outlive this process. If they do not all fit, none
  /// stay.
  void append(std::span<const std::byte> bytes);

  /// Everything appended so far is on disk; returns how far that is.
  FileMark sync();

 private:
  std::filesystem::path path_;
  base::Descriptor file_;
  FileMark end_;
  bool name_is_new_ = false;
};

}  // namespace sadam::train
