#include <sadam/error.h>

#include <algorithm>

#include "base/file.h"
#include "data/folder.h"
#include "data/folder_annotations.h"
#include "data/folder_files.h"

namespace sadam::data {
namespace {

// What `read` makes of a text file, whose name goes before the sentence of an Error.
template <class Read>
auto read_list(const std::filesystem::path& path, Read read) {
  const auto bytes = base::read_file(path);
  try {
    return read(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

FolderPart list_tiny_train(const std::filesystem::path& train, Folder& list) {
  FolderPart part{train, {}, {}};
  for (const auto& name : content_of(train).folders)
    if (!std::binary_search(list.classes.begin(), list.classes.end(), name))
      list.problems.push_back((train / name).string() + " is no class of wnids.txt: move it elsewhere.");
  for (std::size_t label = 0; label < list.classes.size(); ++label) {
    const auto images = list.classes[label] + "/images";
    if (!std::filesystem::is_directory(train / images)) {
      list.problems.push_back("there is no folder " + (train / images).string() +
                              " for a class of wnids.txt: unpack the archive again.");
      continue;
    }
    const auto files = jpeg_files_in(train / images, list.problems);
    if (files.empty())
      list.problems.push_back((train / images).string() + " has no images: every class needs some.");
    for (const auto& file : files) part.files.emplace_back(images).append("/").append(file);
    part.labels.insert(part.labels.end(), files.size(), static_cast<std::int64_t>(label));
  }
  return part;
}

FolderPart list_tiny_val(const std::filesystem::path& val, Folder& list) {
  FolderPart part{val / "images", {}, {}};
  const auto lines = val / "val_annotations.txt";
  auto annotations = read_list(lines, read_annotations);
  std::sort(annotations.begin(), annotations.end(),
            [](const Annotation& a, const Annotation& b) { return a.file < b.file; });
  const auto files = jpeg_files_in(part.folder, list.problems);
  auto file = files.begin();
  const auto report_unlisted = [&](const std::string& name) {
    list.problems.push_back((part.folder / name).string() + " has no line in " + lines.string() +
                            ": unpack the archive again.");
  };
  for (const auto& annotation : annotations) {
    for (; file != files.end() && *file < annotation.file; ++file) report_unlisted(*file);
    const auto at = lines.string() + ": line " + std::to_string(annotation.line) + " names ";
    if (file == files.end() || *file != annotation.file) {
      list.problems.push_back(at + annotation.file + ", which is not there: unpack the archive again.");
      continue;
    }
    ++file;
    const auto position = std::lower_bound(list.classes.begin(), list.classes.end(), annotation.class_name);
    if (position == list.classes.end() || *position != annotation.class_name) {
      list.problems.push_back(at + "the class " + annotation.class_name +
                              ", which wnids.txt lacks: unpack the archive again.");
      continue;
    }
    part.files.push_back(annotation.file);
    part.labels.push_back(position - list.classes.begin());
  }
  std::for_each(file, files.end(), report_unlisted);
  return part;
}

}  // namespace

Folder list_tiny_imagenet(const std::filesystem::path& folder) {
  Folder list;
  list.classes = read_list(folder / "wnids.txt", read_class_names);
  list.train = list_tiny_train(folder / "train", list);
  list.test = list_tiny_val(folder / "val", list);
  return list;
}

}  // namespace sadam::data
