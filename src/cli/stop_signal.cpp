#include "cli/stop_signal.h"

#include <csignal>
#include <cstdlib>

namespace sadam::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> stop_requested = false;

extern "C" void request_stop(int) {
  if (stop_requested.exchange(true)) std::_Exit(130);
}

void handle(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace

StopSignal::StopSignal() { handle(request_stop); }
StopSignal::~StopSignal() { handle(SIG_DFL); }
const std::atomic<bool>& StopSignal::flag() { return stop_requested; }

}  // namespace sadam::cli
