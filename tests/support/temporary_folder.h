// A folder that goes away with the test.
#pragma once

#include <ftw.h>
#include <stdio.h>   // remove
#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <stdexcept>

namespace sadam {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "sadam_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  // Not std::filesystem::remove_all: the libtorch of the Python wheel exports one that jumps to address 0.
  ~TemporaryFolder() {
    constexpr int open_folders = 16;
    ::nftw(
        path_.c_str(), [](const char* path, const struct stat*, int, FTW*) { return ::remove(path); },
        open_folders, FTW_DEPTH | FTW_PHYS);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sadam
