#include "data/fetch/file_lock.h"

#include <fcntl.h>
#include <sadam/error.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sadam::data {
namespace {

// The holder before us removes the file as it leaves: then what we locked is no longer what the name stands
// for.
bool still_named(int descriptor, const std::filesystem::path& path) {
  struct stat ours = {};
  struct stat named = {};
  return fstat(descriptor, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(std::filesystem::path path, const std::string& what) : path_(std::move(path)) {
  do {
    file_ = base::open_descriptor(path_, O_RDWR | O_CREAT);
    if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) throw Error("another process is " + what + "; wait for it to end.");
      throw base::failure("lock", path_, errno);
    }
  } while (!still_named(file_.number(), path_));
}

FileLock::~FileLock() { unlink(path_.c_str()); }

}  // namespace sadam::data
