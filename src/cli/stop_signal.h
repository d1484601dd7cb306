// Ctrl-C as a flag that long work looks at.
#pragma once

#include <atomic>

namespace sadam::cli {

/// While it lives, SIGINT and SIGTERM set `flag()` and nothing else; a second one ends the program at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static const std::atomic<bool>& flag();
};

}  // namespace sadam::cli
