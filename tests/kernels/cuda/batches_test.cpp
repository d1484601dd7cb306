// What the host does before a launch; runs without a GPU.
#include "kernels/cuda/batches.cuh"

#include <gtest/gtest.h>

#include "kernels/cuda/directions.cuh"
#include "kernels/cuda/elements.cuh"

namespace sadam::kernels::cuda {
namespace {

// Every chunk finds its segment, in order, and segments without chunks are never found.
TEST(WithoutGpu, BatchesCoverEveryChunkOfEverySegmentOnce) {
  using Segment = ConstSegment<float>;
  std::vector<Segment> segments;
  for (std::int64_t i = 0; i < 200; ++i) segments.push_back({nullptr, i % 7 == 0 ? 0 : i * 1000});
  const auto chunks_of = [](const Segment& segment) { return element_chunks(segment.count); };
  std::size_t done = 0;
  std::uint64_t seen = 0;
  for_each_batch(segments, chunks_of, [&](const Batch<Segment>& batch, std::uint64_t before) {
    EXPECT_EQ(before, seen);
    std::uint64_t chunk = 0;
    for (int s = 0; s < batch.count; ++s, ++done) {
      EXPECT_EQ(batch.segments[s].count, segments[done].count);
      EXPECT_EQ(batch.chunks_before[s], chunk);
      for (std::uint64_t k = 0; k < chunks_of(batch.segments[s]); ++k, ++chunk)
        ASSERT_EQ(batch.segment_of(chunk), s) << chunk;
    }
    EXPECT_EQ(batch.chunks(), chunk);
    seen += chunk;
  });
  EXPECT_EQ(done, segments.size());
  EXPECT_EQ(total_chunks(segments, chunks_of), static_cast<std::int64_t>(seen));
}

TEST(WithoutGpu, ChunksOfADirectionAreCutByItsOwnIndex) {
  EXPECT_EQ(direction_chunks(0, 0), 0u);
  EXPECT_EQ(direction_chunks(5, 0), 0u);
  EXPECT_EQ(direction_chunks(0, 1), 1u);
  EXPECT_EQ(direction_chunks(0, kDirectionChunk), 1u);
  EXPECT_EQ(direction_chunks(1, kDirectionChunk), 2u);
  EXPECT_EQ(direction_chunks(kDirectionChunk - 1, 2), 2u);
  EXPECT_EQ(direction_chunks(3 * kDirectionChunk, 1), 1u);
}

TEST(WithoutGpu, AGridHasALimit) {
  EXPECT_EQ(grid_for(5), 5u);
  EXPECT_EQ(grid_for(std::uint64_t{1} << 40), 0x7fffffffu);
}

TEST(WithoutGpu, ARefusedLaunchNamesTheKernelAndTheReason) {
  try {
    check(cudaErrorInvalidConfiguration, "perturb");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'perturb'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(cudaGetErrorString(cudaErrorInvalidConfiguration)),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(check(cudaSuccess, "perturb"));
}

}  // namespace
}  // namespace sadam::kernels::cuda
