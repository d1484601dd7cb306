#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace sadam::base {
namespace {

/// The name a file has until it is whole. It is the same every time, so that the remains of a killed process
/// are written over by the next one and do not pile up; the lock lets one writer at a time have it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target), path_(target) {
    path_ += ".tmp";
    do {
      file_ = open_for_target();
      // Where there are no locks, two writers at once are the caller's affair.
      while (::flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) {
      }
    } while (
        !is_named(file_, path_));  // the writer before us renamed what we had opened: it is not ours to touch
    if (::ftruncate(file_.number(), 0) != 0) throw failure("write", target_, errno);
  }

  ~TemporaryFile() {
    if (!renamed_) ::unlink(path_.c_str());
  }

  void fill(std::span<const std::byte> bytes) {
    write_all(file_, bytes, target_);
    sync(file_, target_);
  }

  void rename() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) throw failure("write", target_, errno);
    renamed_ = true;
  }

 private:
  Descriptor open_for_target() const {
    const int number = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (number < 0) throw failure("write", target_, errno);
    return Descriptor(number);
  }

  std::filesystem::path target_;
  std::filesystem::path path_;
  Descriptor file_;
  bool renamed_ = false;
};

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const auto file = open_descriptor(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw failure("read", path, errno);
  // A folder has no bytes, and a device such as /dev/zero no end.
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    throw Error(fmt::format("cannot read {}: it is not a regular file.", path.string()));
  // The size is a hint only: it may change while we read, and some files have none. One byte more lets the
  // end be seen without growing.
  constexpr std::size_t kAtLeast = 4096;
  std::vector<std::byte> bytes(std::max(kAtLeast, static_cast<std::size_t>(status.st_size) + 1));
  std::size_t length = 0;
  while (true) {
    const auto got = ::read(file.number(), bytes.data() + length, bytes.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure("read", path, errno);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length == bytes.size()) bytes.resize(2 * bytes.size());
  }
  bytes.resize(length);
  return bytes;
}

std::string read_text(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_file_and_keep_previous(path, bytes, {});
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void write_file_and_keep_previous(const std::filesystem::path& path, std::span<const std::byte> bytes,
                                  const std::filesystem::path& previous) {
  const auto folder_path = folder_of(path);
  // Opened first: once the file has its name, only the last sync can still fail.
  const auto folder = open_descriptor(folder_path, O_RDONLY | O_DIRECTORY);
  TemporaryFile temporary(path);
  temporary.fill(bytes);
  if (!previous.empty() && ::rename(path.c_str(), previous.c_str()) != 0 && errno != ENOENT)
    throw failure("write", previous, errno);
  temporary.rename();
  sync_names(folder, folder_path);
}

void name_also(const std::filesystem::path& file, const std::filesystem::path& second) {
  const auto temporary = second.string() + ".tmp";
  ::unlink(temporary.c_str());  // what a killed process left
  if (::link(file.c_str(), temporary.c_str()) != 0) {
    const auto bytes = read_file(file);
    return write_file_atomically(second, bytes);
  }
  const bool renamed = ::rename(temporary.c_str(), second.c_str()) == 0;
  const int code = errno;
  ::unlink(temporary.c_str());  // it stays where both names were of one file already
  if (!renamed) throw failure("write", second, code);
  const auto folder = folder_of(second);
  sync_names(open_descriptor(folder, O_RDONLY | O_DIRECTORY), folder);
}

std::filesystem::path writable_target(const std::filesystem::path& path) {
  std::error_code failure;
  const auto kind = std::filesystem::status(path, failure).type();
  if (kind == std::filesystem::file_type::directory)
    throw Error(fmt::format("{} is a folder: name a file in it.", path.string()));
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw Error(
        fmt::format("{} is no regular file, and would be replaced by one: name another.", path.string()));
  const std::unique_ptr<char, decltype(&std::free)> end(::realpath(path.c_str(), nullptr), &std::free);
  auto target = end ? std::filesystem::path(end.get()) : path;
  if (::access(folder_of(target).c_str(), W_OK) != 0 && errno != ENOENT)
    throw sadam::base::failure("write", target, errno);
  return target;
}

void remove_folder(const std::filesystem::path& path) {
  constexpr int kOpenFolders = 16;
  ::nftw(
      path.c_str(),
      [](const char* each, const struct stat*, int, FTW*) {
        std::remove(each);
        return 0;  // go on with the rest
      },
      kOpenFolders, FTW_DEPTH | FTW_PHYS);
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1U) ^ ((table[i] & 1U) * 0x82f63b78U);
    }
    return table;
  }();
  std::uint32_t crc = ~0U;
  for (const auto byte : bytes)
    crc = (crc >> 8U) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  return ~crc;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Error failure(std::string_view verb, const std::filesystem::path& path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT;
  return Error(fmt::format("cannot {} {}: {}{}.", verb, path.string(), std::generic_category().message(code),
                           full ? "; make room and try again" : ""));
}

Descriptor open_descriptor(const std::filesystem::path& path, int flags) {
  constexpr mode_t kUsual = 0666;  // less what the umask takes away
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, kUsual);
  } while (number < 0 && errno == EINTR);
  if (number < 0) throw failure((flags & O_ACCMODE) == O_RDONLY ? "open" : "write", path, errno);
  return Descriptor(number);
}

bool is_named(const Descriptor& file, const std::filesystem::path& path) {
  struct stat by_name {};
  struct stat opened {};
  if (::fstat(file.number(), &opened) != 0) throw failure("write", path, errno);
  return ::lstat(path.c_str(), &by_name) == 0 && by_name.st_ino == opened.st_ino &&
         by_name.st_dev == opened.st_dev;
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw failure("write", path, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void sync(const Descriptor& file, const std::filesystem::path& path) {
  if (::fsync(file.number()) != 0) throw failure("write", path, errno);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

void sync_names(const Descriptor& folder, const std::filesystem::path& path) {
  if (::fsync(folder.number()) != 0 && errno != EINVAL && errno != EROFS) throw failure("write", path, errno);
}

}  // namespace sadam::base
