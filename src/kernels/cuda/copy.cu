// Copies of many pieces, in the widest accesses that both ends allow.
#include "kernels/cuda/batches.cuh"

namespace sadam::kernels::cuda {
namespace {

constexpr std::int64_t kCopyChunk = 32768;  // bytes

struct CopyArguments {
  const std::int64_t* only_if;
  Batch<CopySegment> batch;
};

/// Bytes [begin, end) as far as they are whole units; returns where it stopped.
template <class Unit>
__device__ __forceinline__ std::int64_t copy_units(const CopySegment& segment, std::int64_t begin,
                                                   std::int64_t end) {
  constexpr int kSize = sizeof(Unit);
  constexpr int kAtOnce = 4;
  const std::int64_t whole = begin + (end - begin) / kSize * kSize;
  const auto* const from = static_cast<const char*>(segment.from);
  auto* const to = static_cast<char*>(segment.to);
#pragma unroll 1
  for (std::int64_t i = begin + threadIdx.x * kSize; i < whole; i += kAtOnce * kThreads * kSize) {
    Unit units[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::int64_t at = i + u * kThreads * kSize;
      if (at < whole) units[u] = *reinterpret_cast<const Unit*>(from + at);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::int64_t at = i + u * kThreads * kSize;
      if (at < whole) *reinterpret_cast<Unit*>(to + at) = units[u];
    }
  }
  return whole;
}

__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ CopyArguments arguments) {
  if (arguments.only_if != nullptr && *arguments.only_if == 0) return;
  for_each_chunk(arguments.batch, [&](const CopySegment& segment, std::uint64_t chunk, std::uint64_t) {
    std::int64_t begin = static_cast<std::int64_t>(chunk) * kCopyChunk;
    const std::int64_t end = begin + kCopyChunk < segment.bytes ? begin + kCopyChunk : segment.bytes;
    const auto alignment =
        reinterpret_cast<std::uintptr_t>(segment.to) | reinterpret_cast<std::uintptr_t>(segment.from);
    if (alignment % sizeof(uint4) == 0) begin = copy_units<uint4>(segment, begin, end);
    if (alignment % sizeof(std::uint32_t) == 0) begin = copy_units<std::uint32_t>(segment, begin, end);
    copy_units<unsigned char>(segment, begin, end);
  });
}

}  // namespace

void copy(const Copy& launch) {
  const auto chunks_of = [](const CopySegment& segment) {
    return segment.bytes <= 0 ? 0 : static_cast<std::uint64_t>((segment.bytes - 1) / kCopyChunk + 1);
  };
  for_each_batch(launch.segments, chunks_of, [&](const auto& batch, std::uint64_t) {
    if (batch.chunks() == 0) return;
    start("copy", copy_kernel, grid_for(batch.chunks()), {launch.only_if, batch}, launch.place.stream);
  });
}

}  // namespace sadam::kernels::cuda
