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
      starts_.push_back(total_ + begin);
      begin = end;
    }
    total_ += count;
  }

  /// Calls run(index, chunk) for every chunk, on up to `threads` threads. Each takes a stretch of the list
  /// with as many elements as any other: chunks are of very different sizes where tensors are.
  template <class Run>
  void for_each(int threads, const Run& run) const {
#ifdef _OPENMP
    if (threads > 1 && list_.size() > 1 && total_ >= kSerialBelow && omp_in_parallel() == 0) {
#pragma omp parallel num_threads(threads)
      {
        const auto team = static_cast<std::uint64_t>(omp_get_num_threads());
        const auto mine = static_cast<std::uint64_t>(omp_get_thread_num());
        const std::size_t end = first_from(total_ * (mine + 1) / team);
        for (std::size_t i = first_from(total_ * mine / team); i < end; ++i) run(i, list_[i]);
      }
      return;
    }
#else
    static_cast<void>(threads);
#endif
    for (std::size_t i = 0; i < list_.size(); ++i) run(i, list_[i]);
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
  /// The first chunk with so many elements before it, or more.
  std::size_t first_from(std::uint64_t elements) const {
    return static_cast<std::size_t>(std::lower_bound(starts_.begin(), starts_.end(), elements) -
                                    starts_.begin());
  }

  std::vector<Chunk> list_;
  std::vector<std::uint64_t> starts_;  // elements in the chunks before each
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
