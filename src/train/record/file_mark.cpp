#include "train/record/file_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/crc32.h"
#include "base/descriptor.h"

namespace sadam::train {

std::uint32_t checksum_of_first(std::uint64_t bytes, const std::filesystem::path& path) {
  if (bytes == 0) return 0;
  const auto file = base::open_descriptor(path, O_RDONLY);
  constexpr std::uint64_t at_a_time = 1 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, at_a_time)));
  std::uint32_t checksum = 0;
  for (auto left = bytes; left > 0;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    const auto got = ::read(file.number(), buffer.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::failure("read", path, errno);
    if (got == 0)
      throw Error(
          path.string() + " has " + std::to_string(bytes - left) + " bytes and had " + std::to_string(bytes) +
          " at the last checkpoint: it was cut or replaced since, so put the right file back or start "
          "the run anew.");
    checksum = base::crc32(std::span(buffer).first(static_cast<std::size_t>(got)), checksum);
    left -= static_cast<std::uint64_t>(got);
  }
  return checksum;
}

void check_unchanged_since(const FileMark& mark, const std::filesystem::path& path) {
  std::error_code unreadable;
  if (mark.bytes > 0 && !std::filesystem::exists(path, unreadable) && !unreadable)
    throw Error(path.string() +
                " is gone, and the last checkpoint goes on from it: put it back, or start the run anew.");
  if (checksum_of_first(mark.bytes, path) != mark.checksum)
    throw Error(path.string() +
                " is not what it was at the last checkpoint: it was changed since, or checkpoint.pt is of "
                "another run, so put the right file back or start the run anew.");
}

}  // namespace sadam::train
