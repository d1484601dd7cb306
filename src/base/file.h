// Files: every room reads and writes them through here. Whole ones first, then open ones.
#pragma once

#include <sadam/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sadam::base {

/// All bytes of a file or pipe. Throws an Error that names it: "cannot open data/x.bin: No such file or
/// directory."
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text(const std::filesystem::path& path);

/// What `read` returns; an Error of it begins with the path.
template <class Read>
auto naming(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

/// Writes a file that is there whole or not at all, also after a crash: to a temporary name beside it,
/// synced, renamed, the folder synced. If anything fails, an earlier file of that name is untouched, the
/// temporary one is removed, and the Error names the file and the reason.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// The same, and an earlier file of that name is kept as `previous`, instead of the one there: once the new
/// bytes are on the disk. At every moment one of the two names has a whole file.
void write_file_and_keep_previous(const std::filesystem::path& path, std::span<const std::byte> bytes,
                                  const std::filesystem::path& previous);

/// Gives a whole file a second name, instead of the file that has it: a hard link, or a copy where the file
/// system has none. The second name has a whole file at every moment.
void name_also(const std::filesystem::path& file, const std::filesystem::path& second);

/// Where a file that a user named would be written: at the end of links, so that they stay. Throws an Error
/// where something is that is no regular file, such as /dev/stdout or a folder, and where the folder cannot
/// be written.
std::filesystem::path writable_target(const std::filesystem::path& path);

/// Removes a folder and all that is in it, without following links; what cannot be removed stays. (Not
/// std::filesystem::remove_all: the libtorch of the Python wheel exports one that jumps to address 0.)
void remove_folder(const std::filesystem::path& path);

/// The checksum of zip archives, zlib and PNG. To take bytes in parts, give each part the checksum of those
/// before it.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// CRC-32C (Castagnoli): the checksum of TensorBoard's files.
std::uint32_t crc32c(std::span<const std::byte> bytes);

/// Owns an open file, a POSIX descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor(std::move(other)).swap(*this);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void swap(Descriptor& other) noexcept { std::swap(number_, other.number_); }

 private:
  int number_ = -1;
};

/// "cannot write runs/a/events.jsonl: No space left on device." from an `errno`.
Error failure(std::string_view verb, const std::filesystem::path& path, int code);

/// The flags are those of open(2); a new file gets the usual permissions.
Descriptor open_descriptor(const std::filesystem::path& path, int flags);

/// Whether this is the file that the name stands for: another process may have renamed or removed it.
bool is_named(const Descriptor& file, const std::filesystem::path& path);

/// `path` is for the message.
void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::filesystem::path& path);

/// Returns once the file's bytes are on the disk.
void sync(const Descriptor& file, const std::filesystem::path& path);

/// The folder that a file is in; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Returns once the names in the folder are on the disk: a new file is otherwise lost with the power, bytes
/// and all. Does nothing where the file system has no such thing.
void sync_names(const Descriptor& folder, const std::filesystem::path& path);

}  // namespace sadam::base
