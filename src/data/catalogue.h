// What can be named: the data sets, and all that can be fetched. One table (catalogue.cpp) drives reading,
// checking, fetching, lists and messages: a new data set is a new row, and a new DataKind if it is laid out
// like none of the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::data {

enum class Hash { md5, sha256 };

/// "MD5" or "SHA-256".
std::string_view to_string(Hash hash);

struct Checksum {
  Hash hash = Hash::sha256;
  std::string hex;           ///< lower case
  std::string published_by;  ///< whose word it is
};

/// Where something officially lies, how its bytes are known to be right, what it becomes on disk.
struct CatalogueEntry {
  std::string name;         ///< as typed: cifar10
  std::string title;        ///< for people: CIFAR-10, 10 classes, 32 pixels
  std::string url;          ///< http or https
  std::uint64_t bytes = 0;  ///< to see whether it will fit; 0: not known. The checksum decides, not this
  Checksum checksum;
  bool archive = true;  ///< a tar, tar.gz or zip to unpack; otherwise a file that is used as it is
  std::string place;    ///< the folder in the archive, and then below the root; for a plain file its name

  /// The last part of the address.
  std::string file_name() const;
  /// Where it is once it has been fetched.
  std::filesystem::path path_below(const std::filesystem::path& root) const { return root / place; }
};

/// How a set is laid out, and so how it is read.
enum class DataKind { cifar, class_folders, tiny_imagenet, synthetic };

struct KnownSet {
  std::string name;
  DataKind kind = DataKind::class_folders;
  std::int64_t classes = 0;
  std::size_t pixels = 0;
  std::size_t train_images = 0;
  std::size_t test_images = 0;
  bool even = true;                           ///< every class has the same number of images
  std::optional<CatalogueEntry> source = {};  ///< nothing for what the program makes itself
};

const std::vector<KnownSet>& known_sets();

/// Throws a UsageError, with the nearest name, for a name that does not exist.
const KnownSet& known_set(const std::string& name);

/// PATH of the name "folder:PATH", which must not be empty; nothing for any other name.
std::optional<std::filesystem::path> path_in_name(const std::string& name);

/// The own size of a named set, without opening it; 224 for a folder.
std::size_t pixels_of(const std::string& name);

/// Where a set lies that has a source. Throws an Error that says how to get it if it is not there.
std::filesystem::path known_folder(const KnownSet& set, const std::filesystem::path& root);

/// All that can be fetched: the data sets, then weights.
const std::vector<CatalogueEntry>& catalogue();

/// Throws a UsageError that suggests the nearest name.
const CatalogueEntry& catalogue_entry(std::string_view name);

}  // namespace sadam::data
