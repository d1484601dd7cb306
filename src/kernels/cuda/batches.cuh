// Launches over many arrays. The segments of a launch travel as kernel arguments, a batch at a time; a batch
// is cut into chunks by position alone, and a block finds the segment of its chunk by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/launch.cuh"
#include "kernels/math.h"

namespace sadam::kernels::cuda {

template <class Segment>
struct Batch {
  // What else a kernel is told takes less than 128 bytes.
  static constexpr std::size_t kFitting =
      (4096 - 128 - 2 * sizeof(std::uint64_t)) / (sizeof(Segment) + sizeof(std::uint64_t));
  static constexpr int kCapacity = kFitting < 64 ? static_cast<int>(kFitting) : 64;

  std::uint64_t chunks_before[kCapacity + 1];  ///< in the segments before each; then all of them
  Segment segments[kCapacity];
  int count = 0;

  /// Ends the kernel's loop over chunks.
  SADAM_HD std::uint64_t chunks() const { return chunks_before[count]; }

  /// The segment that a chunk belongs to. Those without chunks are never found.
  SADAM_HD int segment_of(std::uint64_t chunk) const {
    int low = 0;
    int high = count - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (chunk < chunks_before[middle + 1]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// Calls launch(batch, chunks in the batches before) until all segments have had their turn.
/// chunks_of(segment) may be 0.
template <class Segment, class ChunksOf, class Launch>
void for_each_batch(const std::vector<Segment>& segments, const ChunksOf& chunks_of, const Launch& launch) {
  Batch<Segment> batch;
  batch.chunks_before[0] = 0;
  std::uint64_t before = 0;
  const auto flush = [&] {
    if (batch.count == 0) return;
    launch(static_cast<const Batch<Segment>&>(batch), before);
    before += batch.chunks();
    batch.count = 0;
  };
  for (const auto& segment : segments) {
    if (batch.count == Batch<Segment>::kCapacity) flush();
    const int at = batch.count++;
    batch.segments[at] = segment;
    batch.chunks_before[at + 1] = batch.chunks_before[at] + chunks_of(segment);
  }
  flush();
}

/// Σ chunks_of(segment): how many partial sums a launch makes.
template <class Segment, class ChunksOf>
std::int64_t total_chunks(const std::vector<Segment>& segments, const ChunksOf& chunks_of) {
  std::uint64_t total = 0;
  for (const auto& segment : segments) total += chunks_of(segment);
  return static_cast<std::int64_t>(total);
}

#ifdef __CUDACC__
/// Calls work(segment, chunk of the segment, chunk of the batch) for the chunks of this block.
template <class Segment, class Work>
__device__ __forceinline__ void for_each_chunk(const Batch<Segment>& batch, const Work& work) {
  for (std::uint64_t chunk = blockIdx.x; chunk < batch.chunks(); chunk += gridDim.x) {
    const int s = batch.segment_of(chunk);
    work(batch.segments[s], chunk - batch.chunks_before[s], chunk);
  }
}
#endif

}  // namespace sadam::kernels::cuda
