#include "nn/layers.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <cmath>

#include "support/gpu.h"
#include "support/models.h"

namespace sadam::nn {
namespace {

using namespace sadam::testing;

TEST(FakeQuantizeOnGpu, EqualsTheCpuBitForBit) {
  SADAM_NEEDS_GPU();
  for (const auto type : {torch::kFloat, torch::kDouble})
    for (const std::int64_t count : {1, 31, 1000, 65537, 1000003})
      for (int bits = 2; bits <= 8; ++bits) {
        const auto x = torch::randn({count}, type);
        expect_same_bits({fake_quantize(x, bits)}, {fake_quantize(x.cuda(), bits).cpu()});
      }
}

TEST(FakeQuantizeOnGpu, KeepsTheMemoryFormatAndTakesGaps) {
  SADAM_NEEDS_GPU();
  const auto x = torch::randn({4, 6, 9, 5});
  const auto last = x.contiguous(torch::MemoryFormat::ChannelsLast);
  const auto y = fake_quantize(last.cuda(), 3);
  EXPECT_TRUE(y.is_contiguous(torch::MemoryFormat::ChannelsLast));
  expect_same_bits({fake_quantize(last, 3).contiguous()}, {y.cpu().contiguous()});
  auto wide = torch::randn({20, 30});
  wide[0][0] = 1000;  // outside the part: must not be its maximum
  const auto part = wide.slice(1, 3, 17, 2).slice(0, 1, 19);
  const auto gpu_part = wide.cuda().slice(1, 3, 17, 2).slice(0, 1, 19);
  expect_same_bits({fake_quantize(part, 2).contiguous()}, {fake_quantize(gpu_part, 2).cpu().contiguous()});
}

TEST(FakeQuantizeOnGpu, ANanOrAnInfinityMakesEverythingNan) {
  SADAM_NEEDS_GPU();
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    auto x = torch::randn({5000});
    x[4321] = bad;
    EXPECT_TRUE(fake_quantize(x.cuda(), 4).isnan().all().item<bool>()) << bad;
  }
}

TEST(FakeQuantizeOnGpu, TheGradientPassesUnchanged) {
  SADAM_NEEDS_GPU();
  const auto x = torch::randn({7, 9}, torch::device(torch::kCUDA).requires_grad(true));
  const auto gradient = torch::randn({7, 9}, torch::kCUDA);
  fake_quantize(x, 2).backward(gradient);
  expect_same_bits({gradient.cpu()}, {x.grad().cpu()});
}

TEST(FakeQuantizeOnGpu, OtherTypesAndEmptyTensorsWork) {
  SADAM_NEEDS_GPU();
  const auto x = torch::randn({300}, torch::kCUDA).to(torch::kBFloat16);
  EXPECT_EQ(torch::kBFloat16, fake_quantize(x, 4).scalar_type());
  EXPECT_EQ(0, fake_quantize(torch::empty({0, 3}, torch::kCUDA), 2).numel());
}

TEST(FakeQuantizeOnGpu, CanBeCapturedAndReplayedOnNewValues) {
  SADAM_NEEDS_GPU();
  const auto x = torch::randn({1001}, torch::kCUDA);
  torch::Tensor y;
  fake_quantize(x, 3);  // loads the kernels, which is not for a capture
  torch::cuda::synchronize();
  at::cuda::CUDAGraph graph;
  {
    const c10::cuda::CUDAStreamGuard other(c10::cuda::getStreamFromPool());
    graph.capture_begin();
    y = fake_quantize(x, 3);
    graph.capture_end();
  }
  const auto fresh = torch::randn({1001}) * 3;
  x.copy_(fresh);
  graph.replay();
  expect_same_bits({fake_quantize(fresh, 3)}, {y.cpu()});
}

}  // namespace
}  // namespace sadam::nn
