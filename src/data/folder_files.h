// What the listings of folders share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sadam::data {

/// What lies in a folder, sorted by byte values, without hidden files and what desktops leave behind. A
/// folder that cannot be read is an Error.
struct FolderContent {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};
FolderContent content_of(const std::filesystem::path& folder);

/// The JPEG files of a folder, by their names; each other thing in it becomes a problem.
std::vector<std::string> jpeg_files_in(const std::filesystem::path& folder,
                                       std::vector<std::string>& problems);

}  // namespace sadam::data
