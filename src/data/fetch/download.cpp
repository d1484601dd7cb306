#include "data/fetch/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "data/fetch/transfer.h"

namespace sadam::data {
namespace {

void pause_for(std::chrono::milliseconds pause, const Watch& watch) {
  const auto end = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < end) {
    watch.check();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    std::this_thread::sleep_for(std::min(left, std::chrono::milliseconds(50)));
  }
}

}  // namespace

void download(const std::string& url, PartFile& part, std::uint64_t expected, const DownloadLimits& limits,
              const std::function<void(const std::string&)>& note, const Watch& watch) {
  // What counts is getting further than ever before: a server that starts anew each time makes no progress.
  std::uint64_t furthest = part.size();
  int failures = 0;
  auto pause = limits.pause;
  while (true) {
    const TransferEnd end = transfer(url, part, expected, limits, watch);
    if (end.kind == TransferEnd::Kind::complete) return;
    if (end.kind == TransferEnd::Kind::give_up)
      throw Error(fmt::format("cannot download {}: {}.", url, end.reason));
    if (part.size() > furthest) {
      furthest = part.size();
      failures = 0;
      pause = limits.pause;
    } else if (++failures >= limits.attempts) {
      throw Error(fmt::format(
          "cannot download {}: {} ({} attempts in a row got no further); what arrived is kept, and the same "
          "command continues there, or with {}, if you put that there yourself.",
          url, end.reason, failures, std::filesystem::path(part.path()).replace_extension().string()));
    }
    if (note)
      note(fmt::format("{} after {:.1f} MB; trying again in {:.0f} s.", end.reason,
                       static_cast<double>(part.size()) / 1e6, std::chrono::duration<double>(pause).count()));
    pause_for(pause, watch);
    pause = std::min(2 * pause, std::chrono::milliseconds(30'000));
  }
}

}  // namespace sadam::data
