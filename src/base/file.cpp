#include "base/file.h"

#include <ftw.h>

#include <cstdio>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/descriptor.h"

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
    } while (!is_still_there());  // the writer before us renamed what we had opened: it is not ours to touch
    if (::ftruncate(file_.number(), 0) != 0) throw failure("write", target_, errno);
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

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

  bool is_still_there() const {
    struct stat by_name {};
    struct stat opened {};
    if (::fstat(file_.number(), &opened) != 0) throw failure("write", target_, errno);
    return ::lstat(path_.c_str(), &by_name) == 0 && by_name.st_ino == opened.st_ino &&
           by_name.st_dev == opened.st_dev;
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
    throw Error("cannot read " + path.string() + ": it is not a regular file.");
  // The size is a hint only: it may change while we read, and some files have none. One byte more lets the
  // end be seen without growing.
  constexpr std::size_t at_least = 4096;
  std::vector<std::byte> bytes(std::max(at_least, static_cast<std::size_t>(status.st_size) + 1));
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

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const auto folder_path = folder_of(path);
  // Opened first: once the file has its name, only the last sync can still fail.
  const auto folder = open_descriptor(folder_path, O_RDONLY | O_DIRECTORY);
  TemporaryFile temporary(path);
  temporary.fill(bytes);
  temporary.rename();
  sync_names(folder, folder_path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

std::filesystem::path writable_target(const std::filesystem::path& path) {
  std::error_code failure;
  const auto kind = std::filesystem::status(path, failure).type();
  if (kind == std::filesystem::file_type::directory)
    throw Error(path.string() + " is a folder: name a file in it.");
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found)
    throw Error(path.string() + " is no regular file, and would be replaced by one: name another.");
  const std::unique_ptr<char, decltype(&std::free)> end(::realpath(path.c_str(), nullptr), &std::free);
  return end ? std::filesystem::path(end.get()) : path;
}

void remove_folder(const std::filesystem::path& path) {
  constexpr int open_folders = 16;
  ::nftw(
      path.c_str(),
      [](const char* each, const struct stat*, int, FTW*) {
        std::remove(each);
        return 0;  // go on with the rest
      },
      open_folders, FTW_DEPTH | FTW_PHYS);
}

}  // namespace sadam::base
