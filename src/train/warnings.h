// Torch's warnings, and the library's own, in the lines of a run's progress.
#pragma once

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <string>

namespace sadam::train {

class Progress;

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
