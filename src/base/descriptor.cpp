#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace sadam::base {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Error failure(std::string_view verb, const std::filesystem::path& path, int code) {
  std::string sentence =
      "cannot " + std::string(verb) + " " + path.string() + ": " + std::generic_category().message(code);
  if (code == ENOSPC || code == EDQUOT) sentence += "; make room and try again";
  return Error(sentence + ".");
}

Descriptor open_descriptor(const std::filesystem::path& path, int flags) {
  constexpr mode_t usual = 0666;  // less what the umask takes away
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, usual);
  } while (number < 0 && errno == EINTR);
  if (number < 0) throw failure((flags & O_ACCMODE) == O_RDONLY ? "open" : "write", path, errno);
  return Descriptor(number);
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
