// A run from its first step, or from where it stopped, to its last.
#pragma once

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <atomic>
#include <string>

#include "train/recipe/source.h"
#include "train/record/run_folder.h"

namespace sadam::train {

class DataSets;
class Progress;
class Team;

struct RunOptions {
  Progress* progress = nullptr;             ///< may be null
  const std::atomic<bool>* stop = nullptr;  ///< when it becomes true, the run saves itself and leaves
  DataSets* data = nullptr;                 ///< may be null
  /// Who trains, as rank 0 sees it. Null: as many processes as the recipe says, which are started here.
  Team* team = nullptr;
};

enum class Outcome { finished, stopped, was_finished };

/// Trains from the last checkpoint, or from the start if there is none, to the end. A run that is finished
/// already is left alone. Throws an Error, and changes nothing, if checkpoint, events and recipe do not
/// belong together.
Outcome continue_run(const RunFolder& folder, const RunOptions& options);

/// What the other ranks of the team do meanwhile: they train what rank 0 continues, and write nothing.
Outcome help_with_run(Team& team, const RunOptions& options);

/// While it lives, warnings on this thread are shown by `progress`, between its lines, instead of by torch,
/// which would write into them. That steps were skipped is left out: progress has it.
class ShownWarnings : private c10::WarningHandler {
 public:
  explicit ShownWarnings(Progress& progress);
  ~ShownWarnings() override;
  ShownWarnings(const ShownWarnings&) = delete;
  ShownWarnings& operator=(const ShownWarnings&) = delete;

 private:
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning& warning) override { show(warning.msg()); }
#else
  void process(const c10::SourceLocation&, const std::string& text, bool) override { show(text); }
#endif
  void show(const std::string& text) const;

  Progress& progress_;
  c10::WarningHandler* before_;
};

}  // namespace sadam::train
