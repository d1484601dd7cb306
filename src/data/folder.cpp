#include "data/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sadam/error.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>

#include "base/file.h"
#include "data/picture.h"

namespace sadam::data {
namespace {

bool is_clutter(const std::string& name) {
  constexpr std::array<const char*, 3> kLeftBehind = {"Thumbs.db", "desktop.ini", "Icon\r"};
  return name.starts_with('.') || std::ranges::find(kLeftBehind, name) != kLeftBehind.end();
}

/// What lies in a folder, sorted by byte values, without hidden files and what desktops leave behind. A
/// folder that cannot be read is an Error.
struct FolderContent {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};
FolderContent content_of(const std::filesystem::path& folder) {
  FolderContent content;
  try {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      auto name = entry.path().filename().string();
      if (is_clutter(name)) continue;
      (entry.is_directory() ? content.folders : content.files).push_back(std::move(name));
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(fmt::format("cannot list the folder {}: {}.", folder.string(), error.code().message()));
  }
  std::ranges::sort(content.folders);
  std::ranges::sort(content.files);
  return content;
}

/// The pictures of a folder, by their names; each other thing in it becomes a problem.
std::vector<std::string> pictures_in(const std::filesystem::path& folder,
                                     std::vector<std::string>& problems) {
  auto content = content_of(folder);
  for (const auto& name : content.folders)
    problems.push_back(fmt::format("{} is a folder among the images of a class: move it elsewhere.",
                                   (folder / name).string()));
  std::erase_if(content.files, [&](const std::string& name) {
    if (is_named_picture(name)) return false;
    problems.push_back(fmt::format("{} is no picture by its name ({}): convert it or move it elsewhere.",
                                   (folder / name).string(), kPictureNames));
    return true;
  });
  return std::move(content.files);
}

// The names of `all` that `some` lacks, few enough to read.
std::string lacking(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  std::vector<std::string> names;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(names));
  constexpr std::size_t kReadable = 3;
  const auto more = names.size() - std::min(names.size(), kReadable);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

// The names of the class folders of a part.
std::vector<std::string> classes_in(const std::filesystem::path& part, std::vector<std::string>& problems) {
  auto content = content_of(part);
  for (const auto& name : content.files)
    problems.push_back(
        fmt::format("{} lies outside any class: move it into the folder of its class, or elsewhere.",
                    (part / name).string()));
  if (content.folders.empty())
    problems.push_back(fmt::format("{} has no folders: there must be one for each class.", part.string()));
  return std::move(content.folders);
}

// The images of one class, which lie in `folder` of the part.
void add_class(FolderPart& part, const std::string& folder, std::int64_t label,
               std::vector<std::string>& problems) {
  const auto files = pictures_in(part.folder / folder, problems);
  if (files.empty())
    problems.push_back(
        fmt::format("{} has no images: every class needs some.", (part.folder / folder).string()));
  for (const auto& file : files) part.files.push_back(fmt::format("{}/{}", folder, file));
  part.labels.insert(part.labels.end(), files.size(), label);
}

FolderPart list_classes(const std::filesystem::path& part, const std::vector<std::string>& present,
                        const std::vector<std::string>& classes, std::vector<std::string>& problems) {
  FolderPart list{part, {}, {}};
  for (const auto& name : present) {
    const auto position = std::ranges::lower_bound(classes, name);
    if (position == classes.end() || *position != name) continue;  // said to be amiss by the caller
    add_class(list, name, position - classes.begin(), problems);
  }
  return list;
}

// Calls `use(line, number)` for each line, without its end (which may be Windows'); empty lines count but are
// not passed on.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) use(line, number);
  }
}

Error bad_line(std::size_t number, std::string_view reason) {
  return Error(fmt::format("line {} {}: the file is damaged or another one.", number, reason));
}

// The names end up in paths, which must not lead elsewhere.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && std::ranges::none_of(name, [](unsigned char c) {
    return c == '/' || c == '\\' || c < ' ' || c == 0x7f;
  });
}

// What `read` makes of a text file.
template <class Read>
auto read_list(const std::filesystem::path& path, Read read) {
  const auto text = base::read_text(path);
  return base::naming(path, [&] { return read(text); });
}

FolderPart list_tiny_train(const std::filesystem::path& train, Folder& list) {
  FolderPart part{train, {}, {}};
  for (const auto& name : content_of(train).folders)
    if (!std::ranges::binary_search(list.classes, name))
      list.problems.push_back(
          fmt::format("{} is no class of wnids.txt: move it elsewhere.", (train / name).string()));
  for (std::size_t label = 0; label < list.classes.size(); ++label) {
    const auto images = fmt::format("{}/images", list.classes[label]);
    if (!std::filesystem::is_directory(train / images)) {
      list.problems.push_back(
          fmt::format("there is no folder {} for a class of wnids.txt: unpack the archive again.",
                      (train / images).string()));
      continue;
    }
    add_class(part, images, static_cast<std::int64_t>(label), list.problems);
  }
  return part;
}

FolderPart list_tiny_val(const std::filesystem::path& val, Folder& list) {
  FolderPart part{val / "images", {}, {}};
  const auto lines = val / "val_annotations.txt";
  auto annotations = read_list(lines, read_annotations);
  std::ranges::sort(annotations, {}, &Annotation::file);
  const auto files = pictures_in(part.folder, list.problems);
  auto file = files.begin();
  const auto report_unlisted = [&](const std::string& name) {
    list.problems.push_back(fmt::format("{} has no line in {}: unpack the archive again.",
                                        (part.folder / name).string(), lines.string()));
  };
  for (const auto& annotation : annotations) {
    for (; file != files.end() && *file < annotation.file; ++file) report_unlisted(*file);
    const auto report = [&](const std::string& what) {
      list.problems.push_back(fmt::format("{}: line {} names {}: unpack the archive again.", lines.string(),
                                          annotation.line, what));
    };
    if (file == files.end() || *file != annotation.file) {
      report(fmt::format("{}, which is not there", annotation.file));
      continue;
    }
    ++file;
    const auto position = std::ranges::lower_bound(list.classes, annotation.class_name);
    if (position == list.classes.end() || *position != annotation.class_name) {
      report(fmt::format("the class {}, which wnids.txt lacks", annotation.class_name));
      continue;
    }
    part.files.push_back(annotation.file);
    part.labels.push_back(position - list.classes.begin());
  }
  std::for_each(file, files.end(), report_unlisted);
  return part;
}

}  // namespace

Folder list_class_folders(const std::filesystem::path& folder) {
  const auto train = folder / "train";
  auto test = folder / "val";
  if (!std::filesystem::is_directory(test) && std::filesystem::is_directory(folder / "test"))
    test = folder / "test";
  for (const auto& part : {train, test})
    if (!std::filesystem::is_directory(part))
      throw Error(fmt::format(
          "there is no folder {}: images belong into train/CLASS/ and val/CLASS/ (or test/CLASS/); where "
          "they were moved to is said with --set data.name=folder:PATH.",
          part.string()));

  Folder list;
  list.classes = classes_in(train, list.problems);
  const auto test_classes = classes_in(test, list.problems);
  if (const auto names = lacking(list.classes, test_classes); !names.empty())
    list.problems.push_back(fmt::format("{} lacks classes that {} has ({}): both parts need the same.",
                                        test.string(), train.string(), names));
  if (const auto names = lacking(test_classes, list.classes); !names.empty())
    list.problems.push_back(fmt::format("{} has classes that {} lacks ({}): both parts need the same.",
                                        test.string(), train.string(), names));
  list.train = list_classes(train, list.classes, list.classes, list.problems);
  list.test = list_classes(test, test_classes, list.classes, list.problems);
  return list;
}

std::vector<std::filesystem::path> some_pictures(const std::filesystem::path& part) {
  constexpr std::size_t kMost = 8;
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(part)) return found;
  auto classes = content_of(part).folders;
  classes.resize(std::min(classes.size(), kMost));
  for (const auto& name : classes) {
    auto files = content_of(part / name).files;
    std::erase_if(files, [](const std::string& file) { return !is_named_picture(file); });
    files.resize(std::min(files.size(), kMost));
    for (const auto& file : files) found.push_back(part / name / file);
  }
  return found;
}

void refuse_problems(const Folder& folder) {
  if (folder.problems.empty()) return;
  const auto more = folder.problems.size() - 1;
  throw Error(
      fmt::format("{}{}", folder.problems.front(),
                  more == 0 ? "" : fmt::format(" (And {} more; `sadam data check` lists them.)", more)));
}

std::vector<std::string> read_class_names(std::string_view text) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    if (!is_plain_name(line)) throw bad_line(number, "is no name of a class");
    if (!seen.insert(line).second) throw bad_line(number, "names a class a second time");
    names.emplace_back(line);
  });
  std::ranges::sort(names);
  return names;
}

std::vector<Annotation> read_annotations(std::string_view text) {
  std::vector<Annotation> annotations;
  std::unordered_set<std::string_view> seen;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) throw bad_line(number, "has no tab between a file and its class");
    const auto file = line.substr(0, tab);
    const auto rest = line.substr(tab + 1);
    const auto class_name = rest.substr(0, rest.find('\t'));
    if (!is_plain_name(file) || !is_plain_name(class_name))
      throw bad_line(number, "does not begin with a file name and a class");
    if (!seen.insert(file).second) throw bad_line(number, "names a file a second time");
    annotations.push_back({std::string(file), std::string(class_name), number});
  });
  return annotations;
}

Folder list_tiny_imagenet(const std::filesystem::path& folder) {
  Folder list;
  list.classes = read_list(folder / "wnids.txt", read_class_names);
  list.train = list_tiny_train(folder / "train", list);
  list.test = list_tiny_val(folder / "val", list);
  return list;
}

}  // namespace sadam::data
