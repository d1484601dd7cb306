#include "data/folder.h"

#include <sadam/error.h>

#include <algorithm>
#include <iterator>

#include "data/folder_files.h"

namespace sadam::data {
namespace {

// The names of `all` that `some` lacks, few enough to read.
std::string lacking(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  std::vector<std::string> names;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(names));
  constexpr std::size_t readable = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), readable); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > readable) text += " and " + std::to_string(names.size() - readable) + " more";
  return text;
}

// The names of the class folders of a part.
std::vector<std::string> classes_in(const std::filesystem::path& part, std::vector<std::string>& problems) {
  auto content = content_of(part);
  for (const auto& name : content.files)
    problems.push_back((part / name).string() +
                       " lies outside any class: move it into the folder of its class, or elsewhere.");
  if (content.folders.empty())
    problems.push_back(part.string() + " has no folders: there must be one for each class.");
  return std::move(content.folders);
}

FolderPart list_classes(const std::filesystem::path& part, const std::vector<std::string>& present,
                        const std::vector<std::string>& classes, std::vector<std::string>& problems) {
  FolderPart list{part, {}, {}};
  for (const auto& name : present) {
    const auto position = std::lower_bound(classes.begin(), classes.end(), name);
    if (position == classes.end() || *position != name) continue;  // said to be amiss by the caller
    const auto files = jpeg_files_in(part / name, problems);
    if (files.empty()) problems.push_back((part / name).string() + " has no images: every class needs some.");
    for (const auto& file : files) list.files.emplace_back(name).append("/").append(file);
    list.labels.insert(list.labels.end(), files.size(), position - classes.begin());
  }
  return list;
}

}  // namespace

Folder list_class_folders(const std::filesystem::path& folder) {
  const auto train = folder / "train";
  auto test = folder / "val";
  if (!std::filesystem::is_directory(test) && std::filesystem::is_directory(folder / "test"))
    test = folder / "test";
  for (const auto& part : {train, test})
    if (!std::filesystem::is_directory(part))
      throw Error("there is no folder " + part.string() +
                  ": images belong into train/CLASS/ and val/CLASS/ (or test/CLASS/).");

  Folder list;
  list.classes = classes_in(train, list.problems);
  const auto test_classes = classes_in(test, list.problems);
  if (const auto names = lacking(list.classes, test_classes); !names.empty())
    list.problems.push_back(test.string() + " lacks classes that " + train.string() + " has (" + names +
                            "): both parts need the same.");
  if (const auto names = lacking(test_classes, list.classes); !names.empty())
    list.problems.push_back(test.string() + " has classes that " + train.string() + " lacks (" + names +
                            "): both parts need the same.");
  list.train = list_classes(train, list.classes, list.classes, list.problems);
  list.test = list_classes(test, test_classes, list.classes, list.problems);
  return list;
}

void refuse_problems(const Folder& folder) {
  if (folder.problems.empty()) return;
  const auto more = folder.problems.size() - 1;
  throw Error(folder.problems.front() +
              (more == 0 ? "" : " (And " + std::to_string(more) + " more; `sadam data check` lists them.)"));
}

}  // namespace sadam::data
