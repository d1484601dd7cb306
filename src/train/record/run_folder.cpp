#include "train/record/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/display_width.h"
#include "base/nearest.h"
#include "base/usage_error.h"

namespace sadam::train {
namespace {

namespace fs = std::filesystem;

base::Descriptor lock_folder(const fs::path& folder, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds pause(5);
  auto lock = base::open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  while (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK && patience > pause) {
      std::this_thread::sleep_for(pause);
      patience -= pause;
      continue;
    }
    if (errno == EWOULDBLOCK)
      throw FolderInUse("another process is using the run folder " + folder.string() +
                        ": wait until it has ended, or stop it.");
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
  return is_file(paths.events()) && is_file(paths.checkpoint());
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
    throw Error("there is a run in " + folder.string() +
                " already: continue it with --resume, or choose another --name.");
  for (const auto& file : {paths.events(), paths.checkpoint(), paths.tensorboard()})
    if (fs::exists(fs::symlink_status(file)))
      throw Error(folder.string() + " has " + file.filename().string() +
                  " in it and no run: choose another --name, or remove the folder.");
  return {std::move(paths), lock.release()};
}

RunFolder RunFolder::open(const fs::path& folder, std::chrono::milliseconds patience) {
  RunPaths paths{folder};
  check_has_recipe(paths);
  if (!holds_a_run(paths))
    throw Error("there is no run in " + folder.string() + ": it has no " +
                paths.recipe().filename().string() + ".");
  auto lock = lock_folder(folder, patience);
  return {std::move(paths), lock.release()};
}

RunFolder::RunFolder(RunPaths paths, int lock) : paths_(std::move(paths)), lock_(lock) {}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : paths_(std::move(other.paths_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  RunFolder taken(std::move(other));
  std::swap(paths_, taken.paths_);
  std::swap(lock_, taken.lock_);
  return *this;  // and what was held here goes
}

// Closing the folder unlocks it.
RunFolder::~RunFolder() { base::Descriptor{lock_}; }

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
  for (const auto& part : {paths.recipe(), paths.events(), paths.checkpoint()})
    if (file.filename() == part.filename() && is_file(file) && holds_a_run(paths)) return paths;
  return std::nullopt;
}

RunPaths find_run(const std::string& name, const fs::path& root) {
  if (auto found = find_run_if(name, root)) return *found;
  const auto shown = base::printable(name);
  if (const auto run = run_with_file(name))
    throw UsageError(shown + " is a file of the run " + run->folder.string() + ": give that folder.");
  if (!name.empty())
    for (const auto& folder : {fs::path(name), root / name}) check_has_recipe({folder});
  std::vector<std::string> names;
  for (const auto& paths : find_runs(root)) names.push_back(paths.folder.lexically_relative(root).string());
  const auto meant = base::nearest(name, names);
  throw UsageError(
      "there is no run '" + shown + "', neither as a folder nor below " + root.string() +
      (meant.empty() ? "; 'sadam runs' lists those there are." : "; did you mean '" + meant + "'?"));
}

void check_has_recipe(const RunPaths& paths) {
  if (holds_a_run(paths)) return;
  for (const auto& file : {paths.checkpoint(), paths.events()})
    if (is_file(file))
      throw Error(
          paths.folder.string() + " has " + file.filename().string() + " in it and no " +
          paths.recipe().filename().string() +
          ", which says what the run was told: put it back, or remove the folder and start the run anew.");
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
  std::sort(runs.begin(), runs.end(),
            [](const RunPaths& a, const RunPaths& b) { return a.folder < b.folder; });
  return runs;
}

}  // namespace sadam::train
