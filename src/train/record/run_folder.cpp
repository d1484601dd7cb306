#include "train/record/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;

base::Descriptor lock_folder(const fs::path& folder, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause(5);
  auto lock = base::open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  while (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK && patience > kPause) {
      std::this_thread::sleep_for(kPause);
      patience -= kPause;
      continue;
    }
    if (errno == EWOULDBLOCK)
      throw FolderInUse(
          fmt::format("another process is using the run folder {}: wait until it has ended, or stop it.",
                      folder.string()));
    throw base::failure("lock", folder, errno);
  }
  return lock;
}

bool is_file(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable);
}

bool holds_a_run(const RunPaths& paths) { return is_file(paths.recipe()); }

// Either file alone may be somebody else's.
bool holds_what_is_left_of_a_run(const RunPaths& paths) {
  return is_file(paths.events()) && (is_file(paths.checkpoint()) || is_file(paths.previous_checkpoint()));
}

}  // namespace

RunFolder RunFolder::create(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) throw base::failure("make the folder", folder, problem.value());
  RunPaths paths{folder};
  // A folder that is new may be looked at already.
  auto lock = lock_folder(folder, std::chrono::milliseconds(100));
  if (holds_a_run(paths))
    throw Error(
        fmt::format("there is a run in {} already: continue it with --resume, or choose another --name.",
                    folder.string()));
  for (const auto& file : {paths.events(), paths.checkpoint(), paths.previous_checkpoint(),
                           paths.best_checkpoint(), paths.tensorboard()})
    if (fs::exists(fs::symlink_status(file)))
      throw Error(fmt::format("{} has {} in it and no run: choose another --name, or remove the folder.",
                              folder.string(), file.filename().string()));
  return {std::move(paths), std::move(lock)};
}

RunFolder RunFolder::open(const fs::path& folder, std::chrono::milliseconds patience) {
  RunPaths paths{folder};
  check_has_recipe(paths);
  if (!holds_a_run(paths))
    throw Error(fmt::format("there is no run in {}: it has no {}.", folder.string(),
                            paths.recipe().filename().string()));
  auto lock = lock_folder(folder, patience);
  return {std::move(paths), std::move(lock)};
}

// It can only be found out by asking for the lock, so this asks for a shared one, which other readers may
// hold as well, and gives it back at once.
bool is_in_use(const RunPaths& paths) {
  const base::Descriptor file(::open(paths.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return file.number() >= 0 && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<RunPaths> find_run_if(const std::string& name, const fs::path& root) {
  if (name.empty()) return std::nullopt;
  for (const auto& folder : {fs::path(name), root / name})
    if (RunPaths paths{folder}; holds_a_run(paths)) return paths;
  return std::nullopt;
}

std::optional<RunPaths> run_with_file(const fs::path& file) {
  RunPaths paths{file.has_parent_path() ? file.parent_path() : "."};
  for (const auto& part : {paths.recipe(), paths.events(), paths.checkpoint(), paths.previous_checkpoint(),
                           paths.best_checkpoint()})
    if (file.filename() == part.filename() && is_file(file) && holds_a_run(paths)) return paths;
  return std::nullopt;
}

RunPaths find_run(const std::string& name, const fs::path& root) {
  if (auto found = find_run_if(name, root)) return *found;
  const auto shown = base::printable(name);
  if (const auto run = run_with_file(name))
    throw UsageError(
        fmt::format("{} is a file of the run {}: give that folder.", shown, run->folder.string()));
  if (!name.empty())
    for (const auto& folder : {fs::path(name), root / name}) check_has_recipe({folder});
  std::vector<std::string> names;
  for (const auto& paths : find_runs(root)) names.push_back(paths.folder.lexically_relative(root).string());
  const auto meant = base::nearest(name, names);
  throw UsageError(fmt::format(
      "there is no run '{}', neither as a folder nor below {}; {}", shown, root.string(),
      meant.empty() ? "'sadam runs' lists those there are." : fmt::format("did you mean '{}'?", meant)));
}

void check_has_recipe(const RunPaths& paths) {
  if (holds_a_run(paths)) return;
  for (const auto& file : {paths.checkpoint(), paths.previous_checkpoint(), paths.events()})
    if (is_file(file))
      throw Error(fmt::format(
          "{} has {} in it and no {}, which says what the run was told: put it back, or remove the folder "
          "and start the run anew.",
          paths.folder.string(), file.filename().string(), paths.recipe().filename().string()));
}

std::vector<RunPaths> find_runs(const fs::path& root) {
  std::vector<RunPaths> runs;
  std::error_code problem;
  fs::recursive_directory_iterator entries(root, fs::directory_options::skip_permission_denied, problem);
  // A folder that cannot be read, or that goes while we look, is passed over.
  for (; !problem && entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
    std::error_code gone;
    if (!entries->is_directory(gone)) continue;
    RunPaths paths{entries->path()};
    if (!holds_a_run(paths) && !holds_what_is_left_of_a_run(paths)) continue;
    entries.disable_recursion_pending();
    runs.push_back(std::move(paths));
  }
  std::ranges::sort(runs, {}, &RunPaths::folder);
  return runs;
}

std::uint32_t checksum_of_first(std::uint64_t bytes, const fs::path& path) {
  if (bytes == 0) return 0;
  const auto file = base::open_descriptor(path, O_RDONLY);
  constexpr std::uint64_t kAtATime = 1 << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, kAtATime)));
  std::uint32_t checksum = 0;
  for (auto left = bytes; left > 0;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer.size()));
    const auto got = ::read(file.number(), buffer.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw base::failure("read", path, errno);
    if (got == 0)
      throw Error(
          fmt::format("{} has {} bytes and had {} at the last checkpoint: it was cut or replaced since, so "
                      "put the right file back or start the run anew.",
                      path.string(), bytes - left, bytes));
    checksum = base::crc32(std::span(buffer).first(static_cast<std::size_t>(got)), checksum);
    left -= static_cast<std::uint64_t>(got);
  }
  return checksum;
}

void check_unchanged_since(const FileMark& mark, const fs::path& path) {
  std::error_code unreadable;
  if (mark.bytes > 0 && !fs::exists(path, unreadable) && !unreadable)
    throw Error(fmt::format(
        "{} is gone, and the last checkpoint goes on from it: put it back, or start the run anew.",
        path.string()));
  if (checksum_of_first(mark.bytes, path) != mark.checksum)
    throw Error(
        fmt::format("{} is not what it was at the last checkpoint: it was changed since, or checkpoint.pt "
                    "is of another run, so put the right file back or start the run anew.",
                    path.string()));
}

AppendFile::AppendFile(const fs::path& path, std::uint64_t keep)
    : path_(path), end_{keep, checksum_of_first(keep, path)}, name_is_new_(keep == 0) {
  const int flags = O_WRONLY | O_APPEND;
  file_ = base::open_descriptor(path, keep == 0 ? flags | O_CREAT | O_TRUNC : flags);
  if (keep > 0 && ::ftruncate(file_.number(), static_cast<off_t>(keep)) != 0)
    throw base::failure("write", path, errno);
}

void AppendFile::append(std::string_view record) {
  const auto bytes = std::as_bytes(std::span(record));
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
