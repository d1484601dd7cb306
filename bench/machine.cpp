#include <ATen/Parallel.h>
#include <hwy/highway.h>
#include <torch/version.h>

#include <fstream>
#include <iostream>
#include <thread>

#include "tables.h"

namespace sadam::bench {
namespace {

// What follows the separator in the first line of a file that starts with `key`.
std::string entry(const char* file, const std::string& key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto begin = line.find_first_not_of("\" \t", line.find(separator) + 1);
    const auto end = line.find_last_not_of("\" \t");
    if (begin <= end && begin != std::string::npos) return line.substr(begin, end - begin + 1);
  }
  return "unknown";
}

// The library that the dynamic linker took for BLAS.
std::string blas() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.rfind('/');
    if (name != std::string::npos && line.find("blas", name) != std::string::npos)
      return line.substr(line.find('/'));
  }
  return "unknown";
}

}  // namespace

void print_machine(const Settings& settings) {
  std::cout << "- CPU: " << entry("/proc/cpuinfo", "model name", ':') << ", "
            << std::thread::hardware_concurrency() << " cores, "
            << hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()) << "; measured with "
            << settings.threads << " threads\n"
            << "- memory: " << entry("/proc/meminfo", "MemTotal", ':') << "\n"
            << "- system: " << entry("/etc/os-release", "PRETTY_NAME", '=') << "\n"
            << "- compiler: " << __VERSION__
#ifdef NDEBUG
            << "\n"
#else
            << ", without optimization: these figures mean nothing\n"
#endif
            << "- libtorch: " << TORCH_VERSION << ", BLAS " << blas() << std::endl;
}

}  // namespace sadam::bench
