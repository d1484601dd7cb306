// Zip archives as torch.save writes them: every record stored as it is, never compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

namespace sadam::weights {

class ZipArchive {
 public:
  /// Reads the directory; `file` must outlive the archive. Throws an Error that says what is wrong with it.
  explicit ZipArchive(std::span<const std::byte> file);

  bool contains(std::string_view name) const { return entries_.contains(name); }

  /// The bytes of a record, checked against their checksum.
  std::span<const std::byte> record(std::string_view name) const;

  /// The folder that all of torch's records are in, with its slash: that of the only `*/data.pkl`.
  std::string_view root() const;

 private:
  struct Entry {
    std::uint64_t header = 0;  ///< position of the record's own header
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
  };

  std::span<const std::byte> before_directory_;
  std::unordered_map<std::string_view, Entry> entries_;
};

}  // namespace sadam::weights
