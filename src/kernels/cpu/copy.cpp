// A memcpy on several threads.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace sadam::kernels {

void copy(const Copy& launch) {
  if (launch.only_if != nullptr && *launch.only_if == 0) return;
  std::uint64_t total = 0;
  for (const auto& segment : launch.segments) total += static_cast<std::uint64_t>(segment.bytes);
  // One long stretch for each thread: memcpy goes past the cache only where it sees that a copy is large.
  const auto threads = static_cast<std::uint64_t>(std::max(launch.place.threads, 1));
  const std::uint64_t chunk_bytes = std::max<std::uint64_t>(1 << 20, (total + threads - 1) / threads);
  Chunks chunks;
  for (std::size_t i = 0; i < launch.segments.size(); ++i) {
    chunks.add(i, static_cast<std::uint64_t>(launch.segments[i].bytes), 0, chunk_bytes);
  }
  chunks.for_each(launch.place.threads, [&](std::size_t, const Chunk& chunk) {
    const auto& segment = launch.segments[chunk.segment];
    std::memcpy(static_cast<char*>(segment.to) + chunk.begin,
                static_cast<const char*>(segment.from) + chunk.begin, chunk.end - chunk.begin);
  });
}

}  // namespace sadam::kernels
