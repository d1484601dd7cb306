// What a run goes on from, looked at before anything is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "train/recipe/recipe.h"
#include "train/record/checkpoint_file.h"
#include "train/record/run_folder.h"

namespace sadam::train {

/// A checkpoint file that is whole.
struct SavedRun {
  std::vector<std::byte> file;
  Position position;
};

/// The last checkpoint of a run; nothing if there is none. Throws an Error that names the file if it is
/// damaged, or if `recipe`, which is the run's own, is not the one that it was made by.
std::optional<SavedRun> read_checkpoint(const RunPaths& paths, const Recipe& recipe);

/// Throws an Error that names the file if events.jsonl or the TensorBoard file is not what it was when the
/// checkpoint was made.
void check_event_files(const RunPaths& paths, const Position& position);

/// How many steps a run without a checkpoint has taken, all of which it has to take again: it was killed
/// before its first one. Throws an Error if its events show that there was a checkpoint.
std::int64_t steps_without_checkpoint(const RunPaths& paths);

}  // namespace sadam::train
