// Modules and losses that do what few do: a captured step is an eager one for them too.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

// The same numbers as in an eager step, and others in the next.
TEST(Unusual, ABackwardPassThatDrawsRandomNumbers) {
  SADAM_NEEDS_GPU();
  const auto loss = [](SmallNetImpl& net, const Batch& batch) {
    auto features = net.conv->forward(batch[0]);
    if (features.requires_grad())
      features.register_hook([](const torch::Tensor& g) { return g + 0.1 * torch::randn_like(g); });
    const auto dropped = torch::dropout(torch::relu(features), 0.25, /*train=*/true);
    return features.abs().mean() + net.fc->forward(dropped.flatten(1)).square().mean();
  };
  const SAdamOptions shared = SAdamOptions(1e-2).probes(3);
  const SAdamOptions fresh = SAdamOptions(1e-2).probes(3).noise(ProbeNoise::fresh);
  expect_eager_results_of_small_net(loss, {3, shared}, /*has_norm=*/false);
  expect_eager_results_of_small_net(loss, {0, shared, GraphOptions().streams(0)}, false);
  expect_eager_results_of_small_net(loss, {3, fresh}, false);  // probes draw after it
  expect_eager_results_of_small_net(loss, {0, fresh, GraphOptions().streams(0)}, false);
}

TEST(Unusual, BatchesInAnotherMemoryFormat) {
  SADAM_NEEDS_GPU();
  expect_eager_results<SmallNetImpl>([] { return make_net(0); }, loss_of,
                                     [](int i) {
                                       auto batch = make_batch(i);
                                       if (i % 2 == 1)
                                         batch[0] = batch[0].contiguous(torch::MemoryFormat::ChannelsLast);
                                       return batch;
                                     },
                                     {3});
}

// Steps that cannot be captured.
template <class Impl>
void expect_no_capture(const std::function<torch::nn::ModuleHolder<Impl>()>& make,
                       const std::function<torch::Tensor(Impl&, const Batch&)>& loss,
                       const std::function<Batch(int)>& batch_of, const std::string& why) {
  expect_the_same([&](bool tried) {
    torch::manual_seed(7);
    auto net = make();
    net->to(torch::kCUDA);
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    GraphedStep step(net, optimizer, loss, GraphOptions().capture(tried));
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 4; ++i) step(batch_of(i));
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(step.is_captured());
    EXPECT_EQ(said.find(why) != std::string::npos, tried) << said;
    EXPECT_EQ(said.find(why), said.rfind(why)) << "said once: " << said;
    return state_of(*net);
  });
}

TEST(Unusual, InputsThatAreSparseOrUndefinedAreTakenEagerly) {
  SADAM_NEEDS_GPU();
  const std::string why = "an input is sparse, nested or undefined";
  const std::function<SmallNet()> make = [] { return make_net(0); };
  expect_no_capture<SmallNetImpl>(
      make,
      [](SmallNetImpl& net, const Batch& batch) {
        return loss_of(net, {batch[0].to_dense(), batch[1]});
      },
      [](int i) {
        auto batch = make_batch(i);
        batch[0] = torch::relu(batch[0] - 0.1 * i).to_sparse();
        return batch;
      },
      why);
  expect_no_capture<SmallNetImpl>(
      make,
      [](SmallNetImpl& net, const Batch& batch) {
        return batch[2].defined() ? loss_of(net, batch) * 2 : loss_of(net, batch);
      },
      [](int i) {
        auto batch = make_batch(i);
        batch.emplace_back();
        return batch;
      },
      why);
}

/// Keeps a running mean in a buffer, and makes it anew each time.
struct ReplacingImpl : torch::nn::Cloneable<ReplacingImpl> {
  ReplacingImpl() { reset(); }
  void reset() override {
    fc = register_module("fc", torch::nn::Linear(4, 3));
    center = register_buffer("center", torch::zeros({3}));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto y = fc->forward(x);
    center.set_data(0.9 * center + 0.1 * y.mean(0).detach());
    return y - center;
  }
  torch::nn::Linear fc{nullptr};
  torch::Tensor center;
};
TORCH_MODULE(Replacing);

TEST(Unusual, AForwardPassThatReplacesBuffersIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  expect_no_capture<ReplacingImpl>(
      [] { return Replacing(); },
      [](ReplacingImpl& net, const Batch& batch) { return net.forward(batch[0]).square().mean(); },
      [&](int i) { return Batch{x * (i + 1)}; }, "replaces weights or buffers");
}

/// Shortens its weights before it uses them.
struct RenormingImpl : torch::nn::Cloneable<RenormingImpl> {
  RenormingImpl() { reset(); }
  void reset() override { fc = register_module("fc", torch::nn::Linear(4, 3)); }
  torch::Tensor forward(const torch::Tensor& x) {
    fc->weight.set_data(torch::renorm(fc->weight.detach(), 2, 0, 0.5));
    return fc->forward(x);
  }
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Renorming);

TEST(Unusual, AForwardPassThatReplacesWeightsIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  expect_no_capture<RenormingImpl>(
      [] { return Renorming(); },
      [](RenormingImpl& net, const Batch& batch) { return net.forward(batch[0]).square().mean(); },
      [&](int i) { return Batch{x * (i + 1)}; }, "replaces weights or buffers");
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  return status != cudaStreamCaptureStatusNone;
}

// What others enqueue on them would become part of the graph.
TEST(Unusual, NoStreamOfTorchsPoolIsCaptured) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(8));
  const int greatest = std::get<1>(c10::cuda::CUDAStream::priority_range());
  for (int priority = greatest; priority <= 0; ++priority) c10::cuda::getStreamFromPool(priority);
  int captures = 0;
  int found = 0;
  GraphedStep step(net, optimizer, [&](SmallNetImpl& module, const Batch& batch) {
    if (is_capturing(c10::cuda::getCurrentCUDAStream().stream())) {
      ++captures;
      for (int priority = greatest; priority <= 0; ++priority)
        for (int i = 0; i < 40; ++i) found += is_capturing(c10::cuda::getStreamFromPool(priority).stream());
    }
    return loss_of(module, batch);
  });
  step(make_batch(0));
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(step.streams(), 8);
  EXPECT_GE(captures, 9);
  EXPECT_EQ(found, 0);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
