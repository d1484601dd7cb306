// Keeps a second process from doing the same thing at the same time.
#pragma once

#include <filesystem>
#include <string>

#include "base/file.h"

namespace sadam::data {

/// Holds an empty file locked, and removes it at the end. The kernel drops the lock of a process that was
/// killed.
class FileLock {
 public:
  /// Throws an Error, "another process ..." with `what` it is doing, if the lock is taken.
  FileLock(std::filesystem::path path, const std::string& what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path path_;
  base::Descriptor file_;
};

}  // namespace sadam::data
