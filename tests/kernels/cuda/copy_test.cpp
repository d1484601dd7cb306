#include "kernels/cuda/device_array.h"
#include "kernels/kernels.h"

namespace sadam::kernels::cuda {
namespace {

using Bytes = std::vector<unsigned char>;

/// Pieces of many lengths whose ends are aligned to 16, 4 and 1 bytes, together and apart.
struct Pieces {
  std::vector<Bytes> given;
  std::vector<DeviceArray<unsigned char>> from, to;
  Copy launch;

  Pieces() {
    std::mt19937 engine(5);
    for (std::size_t i = 0; i < 160; ++i) {
      const std::size_t bytes = i % 11 == 3 ? 0 : i % 16 == 0 ? 32768 * 3 + i : engine() % 3000;
      given.emplace_back(bytes);
      for (auto& byte : given.back()) byte = static_cast<unsigned char>(engine());
      const std::size_t offsets[] = {0, 4, 1};
      from.emplace_back(given.back(), offsets[i % 3]);
      to.emplace_back(Bytes(bytes, 7), offsets[i / 3 % 3]);
      launch.segments.push_back({to.back().data(), from.back().data(), static_cast<std::int64_t>(bytes)});
    }
  }
};

TEST(CudaCopy, BringsEveryByteWhereverItLies) {
  const Pieces pieces;
  cuda_kernels().copy(pieces.launch);
  for (std::size_t i = 0; i < pieces.to.size(); ++i)
    EXPECT_EQ(pieces.to[i].values(), pieces.given[i]) << i << ", " << pieces.given[i].size() << " bytes";
}

TEST(CudaCopy, HappensOnlyIfItIsWanted) {
  Pieces pieces;
  DeviceArray<std::int64_t> only_if({0});
  pieces.launch.only_if = only_if.data();
  cuda_kernels().copy(pieces.launch);
  for (std::size_t i = 0; i < pieces.to.size(); ++i)
    EXPECT_EQ(pieces.to[i].values(), Bytes(pieces.given[i].size(), 7));
  only_if.set({1});
  cuda_kernels().copy(pieces.launch);
  for (std::size_t i = 0; i < pieces.to.size(); ++i) EXPECT_EQ(pieces.to[i].values(), pieces.given[i]);
}

}  // namespace
}  // namespace sadam::kernels::cuda
