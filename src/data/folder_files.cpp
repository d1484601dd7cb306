#include "data/folder_files.h"

#include <sadam/error.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace sadam::data {
namespace {

bool is_clutter(const std::string& name) {
  constexpr std::array<const char*, 3> left_behind = {"Thumbs.db", "desktop.ini", "Icon\r"};
  return name.starts_with('.') ||
         std::find(left_behind.begin(), left_behind.end(), name) != left_behind.end();
}

bool is_named_jpeg(const std::string& name) {
  auto extension = std::filesystem::path(name).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg";
}

}  // namespace

FolderContent content_of(const std::filesystem::path& folder) {
  FolderContent content;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      auto name = entry.path().filename().string();
      if (is_clutter(name)) continue;
      (entry.is_directory() ? content.folders : content.files).push_back(std::move(name));
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error("cannot list the folder " + folder.string() + ": " + error.code().message() + ".");
  }
  std::sort(content.folders.begin(), content.folders.end());
  std::sort(content.files.begin(), content.files.end());
  return content;
}

std::vector<std::string> jpeg_files_in(const std::filesystem::path& folder,
                                       std::vector<std::string>& problems) {
  auto content = content_of(folder);
  for (const auto& name : content.folders)
    problems.push_back((folder / name).string() +
                       " is a folder among the images of a class: move it elsewhere.");
  std::erase_if(content.files, [&](const std::string& name) {
    if (is_named_jpeg(name)) return false;
    problems.push_back((folder / name).string() +
                       " is no JPEG file by its name (.jpg or .jpeg): convert it or move it elsewhere.");
    return true;
  });
  return std::move(content.files);
}

}  // namespace sadam::data
