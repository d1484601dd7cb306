// Probes run at the same time as each other and as the backward pass.
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

constexpr std::int64_t kCycles = 40'000'000;  // some 20 ms, beside which all else takes no time

/// Its argument, unchanged; its backward pass takes long.
struct SlowBackward : torch::autograd::Function<SlowBackward> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    return x.clone();
  }
  static std::vector<torch::Tensor> backward(torch::autograd::AutogradContext*,
                                             const std::vector<torch::Tensor>& gradients) {
    at::cuda::sleep(kCycles);
    return {gradients[0]};
  }
};

/// How long a step takes whose backward pass and eight probes each spin for kCycles, and nothing else does.
double milliseconds_of_a_step(const GraphOptions& options, std::int64_t streams) {
  const Tf32 scope(false);
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(8));
  const auto loss = [](SmallNetImpl& module, const Batch& batch) {
    if (at::GradMode::is_enabled()) return SlowBackward::apply(loss_of(module, batch));
    at::cuda::sleep(kCycles);
    return loss_of(module, batch);
  };
  GraphedStep step(net, optimizer, loss, options);
  const auto batch = make_batch(0);
  step(batch);
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(step.streams(), streams);
  at::cuda::CUDAEvent begin(cudaEventDefault);
  at::cuda::CUDAEvent end(cudaEventDefault);
  begin.record();
  step(batch);
  end.record();
  end.synchronize();
  return begin.elapsed_time(end);
}

// Nine turns of the spin in place, one side by side. Two of them, where probes would wait for the backward
// pass or share a stream, are too many.
TEST(Overlap, ProbesRunBesideEachOtherAndTheBackwardPass) {
  SADAM_NEEDS_GPU();
  const double in_place = milliseconds_of_a_step(GraphOptions().streams(0), 0);
  const double side_by_side = milliseconds_of_a_step(GraphOptions(), 8);
  std::cout << "nine spins take " << in_place << " ms in place, " << side_by_side << " ms side by side\n";
  EXPECT_GT(in_place, 50);
  EXPECT_LT(side_by_side, in_place / 6);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
