#include "other_processes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <string>

namespace sadam::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double used_by(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

OtherProcesses::OtherProcesses() : start_(now()) {}

double OtherProcesses::share() const {
  const auto end = now();
  const double total = end.total - start_.total;
  const double others = end.busy - start_.busy - (end.ours - start_.ours);
  return total > 0 ? std::clamp(others / total, 0.0, 1.0) : 0;
}

OtherProcesses::Reading OtherProcesses::now() {
  // user, nice, system, idle, waiting for a disk, two kinds of interrupt, stolen by the host; in ticks
  std::array<double, 8> ticks{};
  std::ifstream stat("/proc/stat");
  std::string cpu;
  stat >> cpu;
  for (auto& value : ticks) stat >> value;
  if (!stat) return {};
  const double per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double total = std::accumulate(ticks.begin(), ticks.end(), 0.0);
  return {total / per_second, (total - ticks[3] - ticks[4]) / per_second,
          used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN)};
}

}  // namespace sadam::bench
