#include "train/record/event_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sadam/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file.h"

namespace sadam::train {
namespace {

// Longer than the line of any event; what goes on for longer is garbage and is not kept.
constexpr std::size_t kLongestLine = 1 << 20;
// Two runs of one recipe write the same lines but for their seconds, which are in every step's.
constexpr std::size_t kRemembered = 512;

// How many bytes were there; fewer than asked for at the end of the file.
std::size_t read_at(int file, std::uint64_t offset, char* to, std::size_t bytes,
                    const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < bytes) {
    const auto got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::failure("read", path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

void EventTail::read(const std::function<void(const Event&)>& visit, const std::function<void()>& restart) {
  const auto start_anew = [&] {
    if (offset_ > 0) restart();
    *this = EventTail(std::move(path_));
  };
  // Not a pipe, which would be waited for.
  const base::Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) {
    const int code = errno;
    start_anew();
    if (code == ENOENT || code == ENOTDIR) return;
    throw base::failure("open", path_, code);
  }
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) throw base::failure("read", path_, errno);
  if (!S_ISREG(about.st_mode)) {
    start_anew();
    throw Error(fmt::format("{} is no file: move it away.", path_.string()));
  }
  if (!goes_on(file.number(), about.st_dev, about.st_ino, static_cast<std::uint64_t>(about.st_size)))
    start_anew();
  device_ = about.st_dev;
  inode_ = about.st_ino;

  std::string buffer(kLongestLine, '\0');
  for (;;) {
    const auto got = read_at(file.number(), offset_, buffer.data(), buffer.size(), path_);
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), got);
    offset_ += got;
    last_.append(bytes.substr(got - std::min(got, kRemembered)));
    if (last_.size() > kRemembered) last_.erase(0, last_.size() - kRemembered);
    take(bytes, visit);
    if (got < buffer.size()) break;
  }
}

bool EventTail::goes_on(int file, std::uint64_t device, std::uint64_t inode, std::uint64_t size) const {
  if (offset_ == 0) return true;
  if (device != device_ || inode != inode_ || size < offset_) return false;
  std::string there(last_.size(), '\0');
  return read_at(file, offset_ - last_.size(), there.data(), there.size(), path_) == there.size() &&
         there == last_;
}

void EventTail::take(std::string_view bytes, const std::function<void(const Event&)>& visit) {
  while (!bytes.empty()) {
    const auto length = bytes.find('\n');
    const auto part = bytes.substr(0, length);
    if (!skipping_ && rest_.size() + part.size() > kLongestLine) {
      skipping_ = true;
      rest_.clear();
    }
    if (length == std::string_view::npos) {
      if (!skipping_) rest_.append(part);
      return;
    }
    if (std::exchange(skipping_, false)) {
      note_broken(fmt::format("line {} is too long: the file is damaged or another one.", lines_ + 1));
    } else if (rest_.empty()) {
      take_line(part, visit);
    } else {
      rest_.append(part);
      take_line(rest_, visit);
    }
    rest_.clear();
    ++lines_;
    bytes.remove_prefix(length + 1);
  }
}

void EventTail::take_line(std::string_view line, const std::function<void(const Event&)>& visit) {
  std::optional<Event> event;
  try {
    event = read_event(line, lines_ + 1);
  } catch (const Error& error) {
    return note_broken(error.what());
  }
  if (event) visit(*event);
}

void EventTail::note_broken(const std::string& problem) {
  if (broken_lines_++ == 0) problem_ = fmt::format("{}: {}", path_.string(), problem);
}

}  // namespace sadam::train
