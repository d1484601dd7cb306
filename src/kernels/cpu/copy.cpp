// A memcpy on several threads.
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

namespace sadam::kernels {

void copy(const Copy& launch) {
  Chunks chunks;
  constexpr std::uint64_t chunk_bytes = 1 << 20;
  for (std::size_t i = 0; i < launch.segments.size(); ++i) {
    chunks.add(i, static_cast<std::uint64_t>(launch.segments[i].bytes), 0, chunk_bytes);
  }
  chunks.for_each(launch.threads, [&](std::size_t, const Chunk& chunk) {
    const auto& segment = launch.segments[chunk.segment];
    std::memcpy(static_cast<char*>(segment.to) + chunk.begin,
                static_cast<const char*>(segment.from) + chunk.begin, chunk.end - chunk.begin);
  });
}

}  // namespace sadam::kernels
