// What is known of the named data sets before anything is read, and where they lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/cifar.h"
#include "data/folder.h"

namespace sadam::data {

enum class DataKind { cifar, class_folders, tiny_imagenet, synthetic };

struct KnownSet {
  std::string name;
  DataKind kind = DataKind::class_folders;
  std::int64_t classes = 0;
  std::size_t pixels = 0;
  std::size_t train_images = 0;
  std::size_t test_images = 0;
  bool even = true;    ///< every class has the same number of images
  std::string folder;  ///< under the root, as the official archive unpacks
};

const std::vector<KnownSet>& known_sets();

/// Throws a UsageError, with the nearest name, for a name that does not exist.
const KnownSet& known_set(const std::string& name);

/// PATH of the name "folder:PATH", which must not be empty; nothing for any other name.
std::optional<std::filesystem::path> path_in_name(const std::string& name);

/// Where the set lies. Throws an Error that says how to get it if it is not there.
std::filesystem::path known_folder(const KnownSet& set, const std::filesystem::path& root);

/// What lies in such a folder; another number of classes than is known is the first of its problems.
Folder list_known_folder(const KnownSet& set, const std::filesystem::path& folder);

struct CifarFiles {
  Cifar kind = Cifar::ten;
  std::vector<std::string> train;
  std::vector<std::string> test;
};
CifarFiles cifar_files(const KnownSet& set, const std::filesystem::path& folder);

}  // namespace sadam::data
