// A folder that goes away with the test, and files in it.
#pragma once

#include <ftw.h>
#include <stdio.h>   // remove
#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sadam {

inline void write_text(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "sadam_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  // Not std::filesystem::remove_all: the libtorch of the Python wheel exports one that jumps to address 0.
  ~TemporaryFolder() {
    constexpr int kOpenFolders = 16;
    ::nftw(
        path_.c_str(), [](const char* path, const struct stat*, int, FTW*) { return ::remove(path); },
        kOpenFolders, FTW_DEPTH | FTW_PHYS);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  /// Everything in it, hidden or not.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.insert(entry.path().filename().string());
    return names;
  }

  /// Writes a file, and makes the folders it lies in.
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    auto path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_text(path, text);
    return path;
  }
  std::filesystem::path write(const std::string& name, std::span<const std::byte> bytes) const {
    return write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sadam
