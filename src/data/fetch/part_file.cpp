#include "data/fetch/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

namespace sadam::data {

PartFile::PartFile(std::filesystem::path path)
    : path_(std::move(path)), file_(base::open_descriptor(path_, O_WRONLY | O_CREAT | O_APPEND)) {
  struct stat status = {};
  if (fstat(file_.number(), &status) != 0) throw base::failure("open", path_, errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ == 0) return;
  std::ifstream file(note());
  std::getline(file, validator_);
}

PartFile::~PartFile() {
  if (size_ == 0) remove();
}

void PartFile::append(std::span<const char> bytes) {
  base::write_all(file_, std::as_bytes(bytes), path_);
  size_ += bytes.size();
}

void PartFile::restart(const std::string& validator) {
  // The note goes first: bytes without a note are never taken for a version they are not.
  std::error_code ignored;
  std::filesystem::remove(note(), ignored);
  if (ftruncate(file_.number(), 0) != 0) throw base::failure("write", path_, errno);
  size_ = 0;
  validator_ = validator;
  if (validator.empty()) return;
  std::ofstream file(note());
  file << validator << '\n';
  if (!file.flush()) throw base::failure("write", note(), errno);
}

void PartFile::finish_as(const std::filesystem::path& path) {
  base::sync(file_, path_);
  std::error_code failed;
  std::filesystem::rename(path_, path, failed);
  if (failed) throw base::failure("write", path, failed.value());
  std::filesystem::remove(note(), failed);
}

void PartFile::remove() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::remove(note(), ignored);
}

}  // namespace sadam::data
