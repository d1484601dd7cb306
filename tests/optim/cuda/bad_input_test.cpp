// What does not belong together on a GPU.
#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

TEST(CudaBadInput, ABufferOnAnotherDeviceIsRefused) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net);
  optimizer.protect({torch::zeros({3})});
  const auto batch = make_batch(0);
  EXPECT_TRUE(says(refusal([&] { optimizer.step([&] { return loss_of(*net, batch); }); }), "one device"));
}

TEST(CudaBadInput, ALossOnTheCpuIsRefusedAndNothingHasChanged) {
  SADAM_NEEDS_GPU();
  for (const bool graphed : {false, true}) {
    auto net = make_net();
    SAdam optimizer(*net);
    const auto loss = [](SmallNetImpl& module, const Batch& batch) { return loss_of(module, batch).cpu(); };
    GraphedStep step(net, optimizer, loss);
    const auto batch = make_batch(0);
    const auto before = state_of(*net);
    const auto take = [&] {
      if (graphed)
        step(batch);
      else
        optimizer.step([&] { return loss(*net, batch); });
    };
    EXPECT_TRUE(says(refusal(take), "the loss is on the CPU"));
    EXPECT_TRUE(equal(state_of(*net), before));
  }
}

TEST(CudaBadInput, MixedDevicesAreRefused) {
  SADAM_NEEDS_GPU();
  const auto here = torch::zeros({3}).set_requires_grad(true);
  const auto there = torch::zeros({3}, torch::kCUDA).set_requires_grad(true);
  EXPECT_TRUE(says(refusal([&] { SAdam({here, there}); }), "one device"));
}

}  // namespace
}  // namespace sadam::optim::cuda_test
