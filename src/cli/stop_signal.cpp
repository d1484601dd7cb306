#include "cli/stop_signal.h"

#include <cstdlib>

namespace sadam::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> stop_requested = false;

extern "C" void request_stop(int number) {
  if (stop_requested.exchange(true) && number != SIGHUP) std::_Exit(130);
}

}  // namespace

StopSignal::StopSignal() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    const bool stays_ignored = signals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!stays_ignored) ::sigaction(signals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
}

const std::atomic<bool>& StopSignal::flag() { return stop_requested; }

}  // namespace sadam::cli
