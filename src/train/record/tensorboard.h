// TensorBoard event files: records framed by length and masked CRC-32C, each a protobuf Event with one
// scalar.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "train/record/file_mark.h"

namespace sadam::train {

class TensorBoardWriter {
 public:
  /// Cuts the file back to `keep` bytes first (a resumed run; a shorter file is an Error); with keep = 0
  /// makes a new one that begins with the version record.
  TensorBoardWriter(const std::filesystem::path& path, std::uint64_t keep);
  TensorBoardWriter(TensorBoardWriter&&) noexcept;
  ~TensorBoardWriter();

  void scalar(std::string_view tag, std::int64_t step, double value, double wall_time);
  /// Everything written so far is on disk; returns how far that is.
  FileMark sync();

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace sadam::train
