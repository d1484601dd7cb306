// A run from its first step, or from where it stopped, to its last.
#pragma once

#include <atomic>
#include <filesystem>

#include "train/recipe/source.h"
#include "train/record/run_folder.h"

namespace sadam::train {

class DataSets;
class Progress;

/// Makes the folder of a new run and writes its recipe, complete with everything that is now settled
/// (threads, the brake of a `matched` control), and with the versions it runs on. Nothing is trained yet.
/// Data, weights and recipe that do not go together are refused before the folder is made.
RunFolder begin_run(const std::filesystem::path& folder, Recipe recipe, DataSets& data);

struct RunOptions {
  Progress* progress = nullptr;             ///< may be null
  const std::atomic<bool>* stop = nullptr;  ///< when it becomes true, the run saves itself and leaves
  DataSets* data = nullptr;                 ///< may be null
};

enum class Outcome { finished, stopped, was_finished };

/// Trains from the last checkpoint, or from the start if there is none, to the end. A run that is finished
/// already is left alone. Throws an Error, and changes nothing, if checkpoint, events and recipe do not
/// belong together.
Outcome continue_run(const RunFolder& folder, const RunOptions& options);

}  // namespace sadam::train
