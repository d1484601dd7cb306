#include "train/peak_memory.h"

#include <malloc.h>

#include <cstdlib>  // says whether this is glibc
#include <fstream>
#include <string>

namespace sadam::train {

void reset_peak_memory() {
#ifdef __GLIBC__
  malloc_trim(0);  // what earlier work has freed is not this one's
#endif
  std::ofstream("/proc/self/clear_refs") << "5";  // Linux: sets VmHWM back to what is resident now
}

std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace sadam::train
