#include <gtest/gtest.h>
#include <omp.h>

#include <numeric>

#include "kernels/every_target.h"

namespace sadam::kernels {
namespace {

TEST(CopyKernel, CopiesEveryByteOfEverySegment) {
  for (const std::int64_t bytes : {0, 1, 5, 4096, (1 << 20) - 1, (1 << 20) + 1, 5000000}) {
    std::vector<unsigned char> from(static_cast<std::size_t>(bytes)), to(from.size());
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
    for (const int threads : {1, 2, 3}) {
      std::fill(to.begin(), to.end(), static_cast<unsigned char>(0));
      Copy launch;
      launch.place.threads = threads;
      launch.segments = {{to.data(), from.data(), bytes / 3},
                         {to.data() + bytes / 3, from.data() + bytes / 3, bytes - bytes / 3}};
      cpu_kernels().copy(launch);
      EXPECT_EQ(to, from);
    }
  }
}

TEST(CopyKernel, HappensOnlyIfItIsWanted) {
  for (const std::int64_t wanted : {0, 1}) {
    const float from = 2;
    float to = 1;
    Copy launch;
    launch.segments = {{&to, &from, sizeof from}};
    launch.only_if = &wanted;
    cpu_kernels().copy(launch);
    EXPECT_EQ(to, wanted == 1 ? 2 : 1);
  }
}

// A caller's own parallel loop over models must not be made to wait for more threads than there are cores.
TEST(CopyKernel, WorksInsideAParallelRegion) {
  const std::vector<float> from = random_values<float>(100000, 1);
  std::vector<std::vector<float>> to(2, std::vector<float>(from.size()));
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i) {
    Copy launch;
    launch.place.threads = 2;
    launch.segments = {{to[static_cast<std::size_t>(i)].data(), from.data(), 400000}};
    cpu_kernels().copy(launch);
  }
  EXPECT_EQ(to[0], from);
  EXPECT_EQ(to[1], from);
}

}  // namespace
}  // namespace sadam::kernels
