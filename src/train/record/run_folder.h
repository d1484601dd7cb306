// runs/<name>/: where a run lives, the lock that keeps a second process out, and the files that grow there.
#pragma once

#include <sadam/error.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace sadam::train {

/// Where things are in a run's folder.
struct RunPaths {
  std::filesystem::path folder;

  std::filesystem::path recipe() const { return folder / "run.toml"; }
  std::filesystem::path events() const { return folder / "events.jsonl"; }
  std::filesystem::path tensorboard() const { return folder / "tensorboard"; }
  std::filesystem::path tensorboard_file() const { return tensorboard() / "events.out.tfevents.0.sadam"; }
  std::filesystem::path checkpoint() const { return folder / "checkpoint.pt"; }
  /// The one before the last, for when that is damaged.
  std::filesystem::path previous_checkpoint() const { return folder / "checkpoint.previous.pt"; }
  std::filesystem::path best_checkpoint() const { return folder / "best.pt"; }
};

/// Another process holds the folder.
class FolderInUse : public Error {
 public:
  using Error::Error;
};

/// A run's folder, locked for as long as this lives (flock on the folder, so that a killed process leaves no
/// lock behind).
class RunFolder {
 public:
  /// Makes the folder. Throws an Error if there is a run in it already, or if it cannot be made. Both throw
  /// FolderInUse while another process has it.
  static RunFolder create(const std::filesystem::path& folder);
  /// Opens the folder of an earlier run. Throws an Error if there is none, or if another process keeps it for
  /// longer than `patience`: those that only look at a run hold it for a moment.
  static RunFolder open(const std::filesystem::path& folder,
                        std::chrono::milliseconds patience = std::chrono::milliseconds(100));

  const RunPaths& paths() const { return paths_; }

 private:
  RunFolder(RunPaths paths, base::Descriptor lock) : paths_(std::move(paths)), lock_(std::move(lock)) {}
  RunPaths paths_;
  base::Descriptor lock_;  ///< closing the folder unlocks it
};

/// Whether a process holds the folder's lock at this moment.
bool is_in_use(const RunPaths& paths);

/// The run that a person names by its folder, or by its name below `root`. Throws a UsageError, with the
/// nearest name that there is, if there is no such run, and an Error if there is what is left of one.
RunPaths find_run(const std::string& name, const std::filesystem::path& root);

/// The same; nothing if there is no such run.
std::optional<RunPaths> find_run_if(const std::string& name, const std::filesystem::path& root);

/// The run that a file is a part of: runs/first for runs/first/checkpoint.pt.
std::optional<RunPaths> run_with_file(const std::filesystem::path& file);

/// The folders below `root` that hold a run.toml, or events and a checkpoint without one, sorted by name;
/// `root` itself need not exist.
std::vector<RunPaths> find_runs(const std::filesystem::path& root);

/// Throws an Error with the way out if there are events or a checkpoint in the folder and no run.toml.
void check_has_recipe(const RunPaths& paths);

/// How far a file had come when a checkpoint was made.
struct FileMark {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 of that many bytes

  bool operator==(const FileMark&) const = default;
};

/// CRC-32 of the first bytes of a file. Throws an Error that names it if it has fewer.
std::uint32_t checksum_of_first(std::uint64_t bytes, const std::filesystem::path& path);

/// Throws an Error that names the file and the way out unless it still begins as it did at the mark. Changes
/// nothing.
void check_unchanged_since(const FileMark& mark, const std::filesystem::path& path);

/// A file that grows record by record and can be cut back to where a checkpoint saw it. Throws an Error that
/// names the file when the disk is full or the folder cannot be written.
class AppendFile {
 public:
  /// Cuts the file back to `keep` bytes, of which it has as many or more; with keep = 0 makes it, or empties
  /// it.
  AppendFile(const std::filesystem::path& path, std::uint64_t keep);

  /// Hands the bytes to the system at once, so that they outlive this process. If they do not all fit, none
  /// stay.
  void append(std::string_view record);

  /// Everything appended so far is on disk; returns how far that is.
  FileMark sync();

 private:
  std::filesystem::path path_;
  base::Descriptor file_;
  FileMark end_;
  bool name_is_new_ = false;
};

}  // namespace sadam::train
