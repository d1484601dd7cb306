// Where a run stands, in one file: weights, optimizer, random generator, and how far it has come. Whether the
// file belongs to its run is looked at without libtorch (resume.cpp), before anything is touched.
#pragma once

#include <fmt/format.h>
#include <sadam/error.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/recipe/recipe.h"
#include "train/record/checkpoint_file.h"
#include "train/record/run_folder.h"

namespace torch::nn {
class Module;
}

namespace sadam::train {

class Training;

/// The bytes of a checkpoint file.
std::vector<std::byte> make_checkpoint(const Position& position, const torch::nn::Module& module,
                                       const Training& training);

/// Puts weights, optimizer and torch's generator back. Throws an Error for a damaged file, or one that does
/// not fit.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module, Training& training);

/// The weights alone; their average, where the run has one.
Position load_checkpoint(std::span<const std::byte> file, torch::nn::Module& module);

/// A checkpoint file that is whole.
struct SavedRun {
  std::filesystem::path path;
  std::vector<std::byte> file;
  Position position;
  /// A sentence where it is the one before the last, because the last is damaged or gone; else "".
  std::string instead;
};

/// What `work` returns; an Error that it throws begins with the path.
template <class Work>
auto naming_checkpoint(const std::filesystem::path& path, const Work& work) {
  try {
    return work();
  } catch (const NewerCheckpoint& error) {
    throw NewerCheckpoint(fmt::format("{}: {}", path.string(), error.what()));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// The last checkpoint of a run, or, where that is damaged or gone, the one before it; nothing if there is
/// neither. Throws an Error that names the file if none is whole, or if `recipe`, which is the run's own, is
/// not the one that it was made by.
std::optional<SavedRun> read_checkpoint(const RunPaths& paths, const Recipe& recipe);

/// The checkpoint of the best epoch. Throws an Error with the way out if there is none that is whole, or if
/// it is not of the epoch that is the best by the run's events.
SavedRun read_best_checkpoint(const RunPaths& paths, const Recipe& recipe);

/// Throws a UsageError if a run that stands there cannot have as many epochs as `recipe` says, because its
/// steps would have been others from the first on, or because it has begun more.
void check_epochs(const Position& position, const Recipe& recipe);

/// How many steps a run without a checkpoint has taken, all of which it has to take again: it was killed
/// before its first one. Throws an Error if its events show that there was a checkpoint.
std::int64_t steps_without_checkpoint(const RunPaths& paths);

}  // namespace sadam::train
