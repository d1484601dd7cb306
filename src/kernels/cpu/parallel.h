// Work over many arrays, cut by position alone: no result depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace sadam::kernels {

/// Elements [begin, end) of one segment of a launch.
struct Chunk {
  std::size_t segment = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Large enough to make a thread's turn cheap, small enough to share the work evenly.
constexpr std::uint64_t kChunk = 32768;
/// Below this many elements, waking threads costs more than it saves.
constexpr std::uint64_t kSerialBelow = 32768;

/// The pieces of a launch, in order.
class Chunks {
 public:
  /// Adds elements [0, count) of a segment, cut where first + i is a multiple of the chunk size: `first` is
  /// the index in the direction, so that cuts fall between tiles.
  void add(std::size_t segment, std::uint64_t count, std::uint64_t first = 0, std::uint64_t chunk = kChunk) {
    for (std::uint64_t begin = 0; begin < count;) {
      const std::uint64_t end = std::min(count, begin + chunk - (first + begin) % chunk);
      list_.push_back({segment, static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
      begin = end;
    }
    total_ += count;
  }

  /// Calls run(index, chunk) for every chunk, on up to `threads` threads.
  template <class Run>
  void for_each(int threads, const Run& run) const {
    const auto size = static_cast<std::int64_t>(list_.size());
#ifdef _OPENMP
    const bool parallel = threads > 1 && size > 1 && total_ >= kSerialBelow && omp_in_parallel() == 0;
#pragma omp parallel for schedule(static) num_threads(std::max(threads, 1)) if (parallel)
#else
    static_cast<void>(threads);
#endif
    for (std::int64_t i = 0; i < size; ++i) {
      const auto index = static_cast<std::size_t>(i);
      run(index, list_[index]);
    }
  }

  /// Σ run(chunk), added in order.
  template <class Number, class Run>
  Number sum(int threads, const Run& run) const {
    std::vector<Number> parts(list_.size());
    for_each(threads, [&](std::size_t index, const Chunk& chunk) { parts[index] = run(chunk); });
    Number total = 0;
    for (const Number part : parts) total += part;
    return total;
  }

 private:
  std::vector<Chunk> list_;
  std::uint64_t total_ = 0;
};

/// The chunks of every segment of a launch.
template <class Segment>
Chunks cut(const std::vector<Segment>& segments) {
  Chunks chunks;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto count = static_cast<std::uint64_t>(segments[i].count);
    if constexpr (requires { segments[i].first; }) {
      chunks.add(i, count, segments[i].first);
    } else {
      chunks.add(i, count);
    }
  }
  return chunks;
}

}  // namespace sadam::kernels
