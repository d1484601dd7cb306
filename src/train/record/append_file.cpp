#include "train/record/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace sadam::train {

AppendFile::AppendFile(const std::filesystem::path& path, std::uint64_t keep)
    : path_(path), length_(keep), name_is_new_(keep == 0) {
  const int flags = O_WRONLY | O_APPEND;
  file_ = base::open_descriptor(path, keep == 0 ? flags | O_CREAT | O_TRUNC : flags);
  if (keep == 0) return;
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) throw base::failure("read", path, errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < keep)
    throw Error(path.string() + " has " + std::to_string(size) + " bytes and had " + std::to_string(keep) +
                " at the last checkpoint: it was cut or replaced since, so start the run anew.");
  if (::ftruncate(file_.number(), static_cast<off_t>(keep)) != 0) throw base::failure("write", path, errno);
}

void AppendFile::append(std::span<const std::byte> bytes) {
  try {
    base::write_all(file_, bytes, path_);
  } catch (const Error&) {
    // Half a record helps nobody. If this fails too, a reader sees the end as cut.
    [[maybe_unused]] const int result = ::ftruncate(file_.number(), static_cast<off_t>(length_));
    throw;
  }
  length_ += bytes.size();
}

std::uint64_t AppendFile::sync() {
  base::sync(file_, path_);
  if (name_is_new_) {
    const auto folder = base::folder_of(path_);
    base::sync_names(base::open_descriptor(folder, O_RDONLY | O_DIRECTORY), folder);
    name_is_new_ = false;
  }
  return length_;
}

}  // namespace sadam::train
