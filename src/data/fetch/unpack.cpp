#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "data/fetch/fetch.h"

namespace sadam::data {
namespace {

namespace fs = std::filesystem;

using Reader = std::unique_ptr<archive, decltype([](archive* reader) { archive_read_free(reader); })>;

// The hidden folder; it goes with the object, whatever is in it.
class HiddenFolder {
 public:
  explicit HiddenFolder(fs::path path) : path_(std::move(path)) {
    base::remove_folder(path_);
    std::error_code failure;
    fs::create_directories(path_, failure);
    if (failure) throw base::failure("write", path_, failure.value());
  }
  ~HiddenFolder() { base::remove_folder(path_); }
  HiddenFolder(const HiddenFolder&) = delete;
  HiddenFolder& operator=(const HiddenFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A name in the archive as a path below the folder it is unpacked to; nothing if it leads elsewhere.
std::optional<fs::path> path_within(std::string_view name) {
  if (name.empty() || name.front() == '/') return std::nullopt;
  fs::path path;
  while (!name.empty()) {
    const auto part = name.substr(0, name.find('/'));
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") path /= part;
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return path;
}

class Unpacking {
 public:
  Unpacking(const fs::path& file, const fs::path& to, std::string folder, const Watch& watch)
      : file_(file),
        to_(to),
        folder_(std::move(folder)),
        watch_(watch),
        reader_(archive_read_new()),
        block_(1 << 18) {
    // Only what the catalogue has: every further format is further code that outside bytes could reach. Of
    // the two readers of zip the one that needs the directory at the end notices a missing end.
    archive_read_support_filter_gzip(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_zip_seekable(reader_.get());
    std::error_code ignored;
    const auto size = fs::file_size(file, ignored);
    if (!ignored) bytes_ = size;
  }

  void run() {
    if (archive_read_open_filename(reader_.get(), file_.c_str(), 1 << 18) != ARCHIVE_OK) throw damaged();
    archive_entry* entry = nullptr;
    while (true) {
      const int result = archive_read_next_header(reader_.get(), &entry);
      if (result == ARCHIVE_EOF) return;
      if (result < ARCHIVE_WARN) throw damaged();
      take(entry);
    }
  }

 private:
  Error damaged() const {
    const char* words = archive_error_string(reader_.get());
    return Error(fmt::format("{} cannot be unpacked: {}; remove it and fetch it again.", file_.string(),
                             words != nullptr ? words : "it is damaged"));
  }

  // Of a name or link that leads elsewhere nothing is unpacked, not even the rest of the archive.
  fs::path checked(const char* name) const {
    const auto path = path_within(name != nullptr ? name : "");
    if (!path)
      throw Error(fmt::format("{} holds the name {}, which leads out of its folder; nothing was unpacked.",
                              file_.string(), base::in_quotes(name != nullptr ? name : "")));
    return *path;
  }

  void take(archive_entry* entry) {
    const fs::path name = checked(archive_entry_pathname(entry));
    report();
    const auto type = archive_entry_filetype(entry);
    const char* twin = archive_entry_hardlink(entry);
    if (twin == nullptr && type != AE_IFREG && type != AE_IFDIR)
      throw Error(
          fmt::format("{} holds {}, a link or special file, which no data set needs; nothing was unpacked.",
                      file_.string(), base::in_quotes(name.string())));
    const fs::path twin_name = twin != nullptr ? checked(twin) : fs::path();
    if (name.empty() || *name.begin() != folder_) return;

    const fs::path path = to_ / name;
    std::error_code failure;
    fs::create_directories(type == AE_IFDIR && twin == nullptr ? path : path.parent_path(), failure);
    if (failure) throw base::failure("write", path, failure.value());
    if (twin != nullptr) {
      fs::copy_file(to_ / twin_name, path, failure);
      if (failure) throw base::failure("write", path, failure.value());
    } else if (type == AE_IFREG) {
      write_file(path);
    }
  }

  void write_file(const fs::path& path) {
    const auto file = base::open_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    while (true) {
      const auto count = archive_read_data(reader_.get(), block_.data(), block_.size());
      if (count < 0) throw damaged();
      if (count == 0) return;
      base::write_all(file, std::as_bytes(std::span(block_).first(static_cast<std::size_t>(count))), path);
      report();
    }
  }

  // How much of the archive was read. A zip is read from its end first: never more than all.
  void report() const {
    const auto read = archive_filter_bytes(reader_.get(), -1);
    watch_.report(std::min(static_cast<std::uint64_t>(std::max<la_int64_t>(read, 0)), bytes_), bytes_);
  }

  const fs::path& file_;
  const fs::path& to_;
  std::string folder_;
  const Watch& watch_;
  Reader reader_;
  std::vector<char> block_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void unpack(const fs::path& archive, const fs::path& place, const Watch& watch) {
  const std::string folder = place.filename();
  const HiddenFolder hidden(place.parent_path() / fmt::format(".{}.unpacking", folder));
  Unpacking(archive, hidden.path(), folder, watch).run();
  if (!fs::is_directory(hidden.path() / folder))
    throw Error(
        fmt::format("{} holds no folder '{}'; remove it and fetch it again.", archive.string(), folder));

  // Without this a power cut soon after could leave the name with empty files behind it.
  const auto opened = base::open_descriptor(hidden.path(), O_RDONLY | O_DIRECTORY);
#ifdef __linux__
  if (syncfs(opened.number()) != 0) throw base::failure("write", place, errno);
#else
  sync();
#endif
  std::error_code failure;
  fs::rename(hidden.path() / folder, place, failure);
  if (failure) throw base::failure("write", place, failure.value());
}

}  // namespace sadam::data
