// What can be fetched: where it officially lies, how its bytes are known to be right, what it becomes on
// disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sadam::data {

enum class Hash { md5, sha256 };

struct Checksum {
  Hash hash = Hash::sha256;
  std::string hex;           ///< lower case; "" where nobody publishes one
  std::string published_by;  ///< whose word it is
};

struct CatalogueEntry {
  std::string name;   ///< as typed: cifar10
  std::string title;  ///< for people: CIFAR-10, binary version
  std::string url;    ///< http or https
  std::uint64_t bytes =
      0;  ///< to show and to see whether it will fit; 0: not known. The checksum decides, not this
  Checksum checksum;
  bool archive = true;  ///< a tar, tar.gz or zip to unpack; otherwise a file that is used as it is
  std::string place;    ///< the folder in the archive, and then below the root; for a plain file its name

  /// The last part of the address.
  std::string file_name() const;
  /// Where it is once it has been fetched.
  std::filesystem::path path_below(const std::filesystem::path& root) const { return root / place; }
};

/// The data sets of the experiments, then the weights.
const std::vector<CatalogueEntry>& catalogue();

/// Throws a UsageError that suggests the nearest name.
const CatalogueEntry& catalogue_entry(std::string_view name);

/// "MD5" or "SHA-256".
std::string_view to_string(Hash hash);

}  // namespace sadam::data
