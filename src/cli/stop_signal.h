// Ctrl-C as a flag that long work looks at.
#pragma once

#include <csignal>

#include <array>
#include <atomic>

namespace sadam::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP set `flag()` and nothing else; a second SIGINT or SIGTERM ends
/// the program at once. (A terminal that closes may send SIGHUP twice, and what is saved then must be whole.)
/// Where SIGHUP is ignored, as under nohup, it stays so.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static const std::atomic<bool>& flag();

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace sadam::cli
