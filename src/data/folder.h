// Folders of pictures, listed without reading the files. The order depends on names alone, so that it is
// the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::data {

/// The files of one part, and the class of each.
struct FolderPart {
  std::filesystem::path folder;
  std::vector<std::string> files;    ///< relative to `folder`
  std::vector<std::int64_t> labels;  ///< index into the classes

  std::filesystem::path path(std::size_t i) const { return folder / files[i]; }
};

/// A data set as it lies on disk.
struct Folder {
  std::vector<std::string> classes;  ///< sorted by byte values
  FolderPart train;
  FolderPart test;
  /// What is wrong with it, a sentence each: files that are no images by their names, classes without images
  /// or in one part only. Nothing is passed over but hidden files and what desktops leave behind.
  std::vector<std::string> problems;
};

/// ImageNet's layout: train/CLASS/*.jpeg and val/CLASS/*.jpeg, or test/ where there is no val/; PNG as well.
Folder list_class_folders(const std::filesystem::path& folder);

/// TinyImageNet's: wnids.txt names the classes; train/CLASS/images/*.JPEG; val/images/*.JPEG with the classes
/// in val/val_annotations.txt.
Folder list_tiny_imagenet(const std::filesystem::path& folder);

/// The names in wnids.txt, one a line, sorted. A name twice, or one that is no plain file name, is an Error
/// with the number of its line.
std::vector<std::string> read_class_names(std::string_view text);

struct Annotation {
  std::string file;
  std::string class_name;
  std::size_t line = 0;  ///< from 1
};

/// val_annotations.txt: file name, tab, class, and more that is not needed, on each line. A line of another
/// form, or a file named twice, is an Error with the number of the line.
std::vector<Annotation> read_annotations(std::string_view text);

/// The first few pictures of the first few classes of a part, without a look at the others: what its images
/// are like. Empty where there is no such folder.
std::vector<std::filesystem::path> some_pictures(const std::filesystem::path& part);

/// Throws the first problem, if there is one, and says how many more there are.
void refuse_problems(const Folder& folder);

}  // namespace sadam::data
