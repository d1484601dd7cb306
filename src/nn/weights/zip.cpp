#include "nn/weights/zip.h"

#include <string>

#include "base/crc32.h"
#include "nn/weights/bytes.h"

namespace sadam::weights {
namespace {

constexpr std::string_view directory_name = "the archive's directory";
constexpr std::uint32_t unknown32 = 0xffffffffU;  // the value is in a zip64 field

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t position = 0;
};

Bytes from(Bytes file, std::uint64_t position, std::uint64_t size) {
  ByteReader reader(file, directory_name);
  reader.take(position);
  return reader.take(size);
}

/// The end record is the last thing in the file but for a comment whose length it gives.
std::size_t find_end_record(Bytes file) {
  constexpr std::size_t end_size = 22;
  constexpr std::size_t longest_comment = 0xffff;
  for (std::size_t comment = 0; comment <= longest_comment && comment + end_size <= file.size(); ++comment) {
    const auto position = file.size() - end_size - comment;
    if (as_text(file.subspan(position, 4)) != "PK\5\6") continue;
    ByteReader length(file.subspan(position + 20), directory_name);
    if (length.number<std::uint16_t>() == comment) return position;
  }
  throw Error("the zip archive is cut short: its directory is missing");
}

Directory find_directory(Bytes file) {
  const auto end = find_end_record(file);
  ByteReader reader(file.subspan(end), directory_name);
  reader.take(10);
  Directory result;
  result.entries = reader.number<std::uint16_t>();
  result.size = reader.number<std::uint32_t>();
  result.position = reader.number<std::uint32_t>();
  // An archive that needs 64-bit numbers, or just has them, says so right before the end record.
  constexpr std::size_t locator_size = 20;
  if (end >= locator_size && as_text(file.subspan(end - locator_size, 4)) == "PK\6\7") {
    ByteReader locator(file.subspan(end - locator_size), directory_name);
    locator.take(8);
    const auto position = locator.number<std::uint64_t>();
    ByteReader wide(from(file, position, 56), directory_name);
    if (as_text(wide.take(4)) != "PK\6\6") throw Error("the zip archive's 64-bit directory is damaged");
    wide.take(28);
    result.entries = wide.number<std::uint64_t>();
    result.size = wide.number<std::uint64_t>();
    result.position = wide.number<std::uint64_t>();
  }
  return result;
}

/// Looks in an entry's extra fields for the numbers that did not fit into 32 bits.
void widen(Bytes extra, std::uint64_t& size, std::uint64_t& packed, std::uint64_t& header) {
  ByteReader reader(extra, directory_name);
  while (reader.left() >= 4) {
    const auto id = reader.number<std::uint16_t>();
    ByteReader field(reader.take(reader.number<std::uint16_t>()), directory_name);
    if (id != 1) continue;
    for (auto* value : {&size, &packed, &header}) {
      if (*value == unknown32) *value = field.number<std::uint64_t>();
    }
  }
}

}  // namespace

ZipArchive::ZipArchive(Bytes file) {
  const auto directory = find_directory(file);
  ByteReader reader(from(file, directory.position, directory.size), directory_name);
  before_directory_ = file.first(static_cast<std::size_t>(directory.position));
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (as_text(reader.take(4)) != "PK\1\2") throw Error("the zip archive's directory is damaged");
    reader.take(4);
    Entry entry;
    entry.flags = reader.number<std::uint16_t>();
    entry.method = reader.number<std::uint16_t>();
    reader.take(4);
    entry.crc = reader.number<std::uint32_t>();
    std::uint64_t packed = reader.number<std::uint32_t>();
    entry.size = reader.number<std::uint32_t>();
    const auto name_length = reader.number<std::uint16_t>();
    const auto extra_length = reader.number<std::uint16_t>();
    const auto comment_length = reader.number<std::uint16_t>();
    reader.take(8);
    entry.header = reader.number<std::uint32_t>();
    const auto name = as_text(reader.take(name_length));
    widen(reader.take(extra_length), entry.size, packed, entry.header);
    reader.take(comment_length);
    if (entry.method == 0 && packed != entry.size) {
      throw Error("the zip archive gives two sizes for " + in_quotes(name));
    }
    if (!entries_.emplace(name, entry).second)
      throw Error("the zip archive has two records " + in_quotes(name));
  }
}

Bytes ZipArchive::record(std::string_view name) const {
  const auto label = "the record " + in_quotes(name);
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(label + " is missing from the zip archive");
  const auto& entry = found->second;
  if ((entry.flags & 1U) != 0) throw Error(label + " of the zip archive is encrypted");
  if (entry.method != 0) throw Error(label + " is compressed, which torch.save never does");

  ByteReader reader(before_directory_, label);
  reader.take(entry.header);
  if (as_text(reader.take(4)) != "PK\3\4") throw Error(label + " does not begin where the zip archive says");
  reader.take(22);
  const auto name_length = reader.number<std::uint16_t>();
  const auto extra_length = reader.number<std::uint16_t>();
  if (as_text(reader.take(name_length)) != name)
    throw Error(label + " goes by another name in the zip archive");
  reader.take(extra_length);
  const auto bytes = reader.take(entry.size);
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer seldom guesses a checksum
  if (base::crc32(bytes) != entry.crc) throw Error(label + " is damaged: its checksum is wrong");
#endif
  return bytes;
}

std::string_view ZipArchive::root() const {
  constexpr std::string_view wanted = "/data.pkl";
  std::string_view found;
  for (const auto& [name, entry] : entries_) {
    if (!name.ends_with(wanted) || name.find('/') != name.size() - wanted.size()) continue;
    if (!found.empty()) throw Error("the zip archive has data.pkl in two folders");
    found = name.substr(0, name.size() - wanted.size() + 1);
  }
  if (found.empty()) throw Error("the zip archive has no data.pkl, so torch.save did not write it");
  return found;
}

}  // namespace sadam::weights
