#include "train/record/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/crc32.h"

namespace sadam::train {

AppendFile::AppendFile(const std::filesystem::path& path, std::uint64_t keep)
    : path_(path), end_{keep, checksum_of_first(keep, path)}, name_is_new_(keep == 0) {
  const int flags = O_WRONLY | O_APPEND;
  file_ = base::open_descriptor(path, keep == 0 ? flags | O_CREAT | O_TRUNC : flags);
  if (keep > 0 && ::ftruncate(file_.number(), static_cast<off_t>(keep)) != 0)
    throw base::failure("write", path, errno);
}

void AppendFile::append(std::span<const std::byte> bytes) {
  try {
    base::write_all(file_, bytes, path_);
  } catch (const Error&) {
    // Half a record helps nobody. If this fails too, a reader sees the end as cut.
    [[maybe_unused]] const int result = ::ftruncate(file_.number(), static_cast<off_t>(end_.bytes));
    throw;
  }
  end_.bytes += bytes.size();
  end_.checksum = base::crc32(bytes, end_.checksum);
}

FileMark AppendFile::sync() {
  base::sync(file_, path_);
  if (name_is_new_) {
    const auto folder = base::folder_of(path_);
    base::sync_names(base::open_descriptor(folder, O_RDONLY | O_DIRECTORY), folder);
    name_is_new_ = false;
  }
  return end_;
}

}  // namespace sadam::train
