#include "data/data_set_known.h"

#include <sadam/error.h>

#include <algorithm>

#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::data {
namespace {

constexpr std::string_view folder_prefix = "folder:";

}  // namespace

const std::vector<KnownSet>& known_sets() {
  using enum DataKind;
  static const std::vector<KnownSet> sets = {
      {"cifar10", cifar, 10, 32, 50000, 10000, true, "cifar-10-batches-bin"},
      {"cifar100", cifar, 100, 32, 50000, 10000, true, "cifar-100-binary"},
      {"tinyimagenet", tiny_imagenet, 200, 64, 100000, 10000, true, "tiny-imagenet-200"},
      {"imagewoof", class_folders, 10, 160, 9025, 3929, false, "imagewoof2-160"},
      {"synthetic10", synthetic, 10, 32, 50000, 10000, true, ""},
      {"synthetic100", synthetic, 100, 32, 50000, 10000, true, ""},
  };
  return sets;
}

const KnownSet& known_set(const std::string& name) {
  for (const auto& set : known_sets())
    if (set.name == name) return set;
  std::vector<std::string> names;
  for (const auto& set : known_sets()) names.push_back(set.name);
  names.push_back(std::string(folder_prefix) + "PATH");
  throw UsageError("there is no data set '" + name + "'" + base::suggestion(name, names));
}

std::optional<std::filesystem::path> path_in_name(const std::string& name) {
  if (!name.starts_with(folder_prefix)) return std::nullopt;
  const auto path = name.substr(folder_prefix.size());
  if (path.empty()) throw UsageError("the data set 'folder:' lacks its path: write folder:PATH.");
  return path;
}

std::filesystem::path known_folder(const KnownSet& set, const std::filesystem::path& root) {
  auto folder = root / set.folder;
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure))
    throw Error("there is no folder " + folder.string() + ": `sadam data fetch " + set.name +
                "` downloads it, or give the folder above it as data.root.");
  return folder;
}

Folder list_known_folder(const KnownSet& set, const std::filesystem::path& folder) {
  auto list = set.kind == DataKind::tiny_imagenet ? list_tiny_imagenet(folder) : list_class_folders(folder);
  if (list.classes.size() != static_cast<std::size_t>(set.classes))
    list.problems.insert(list.problems.begin(), folder.string() + " has " +
                                                    std::to_string(list.classes.size()) + " classes and " +
                                                    set.name + " has " + std::to_string(set.classes) +
                                                    ": `sadam data fetch " + set.name + "` gets it whole.");
  return list;
}

CifarFiles cifar_files(const KnownSet& set, const std::filesystem::path& folder) {
  const auto at = [&](const std::string& name) { return (folder / name).string(); };
  if (set.classes == 100) return {Cifar::hundred, {at("train.bin")}, {at("test.bin")}};
  CifarFiles files{Cifar::ten, {}, {at("test_batch.bin")}};
  for (const char* number : {"1", "2", "3", "4", "5"})
    files.train.push_back(at(std::string("data_batch_") + number + ".bin"));
  return files;
}

}  // namespace sadam::data
