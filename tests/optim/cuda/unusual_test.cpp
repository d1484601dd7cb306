// Modules and losses that do what few do: a captured step is an eager one for them too.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

/// How a run is taken, and on how many streams its captured steps are to probe.
struct Expected {
  std::int64_t streams = 3;
  SAdamOptions options = SAdamOptions(1e-2).probes(3);
  GraphOptions graph = {};
};

/// Captured steps leave behind what eager ones do.
template <class Impl>
void expect_eager_results(const std::function<torch::nn::ModuleHolder<Impl>()>& make,
                          const std::function<torch::Tensor(Impl&, const Batch&)>& loss,
                          const std::function<Batch(int)>& batch_of, const Expected& expected) {
  expect_the_same([&](bool captured) {
    torch::manual_seed(7);
    auto net = make();
    net->to(torch::kCUDA);
    SAdam optimizer(*net, expected.options);
    auto graph = expected.graph;
    GraphedStep step(net, optimizer, loss, graph.capture(captured));
    torch::manual_seed(5);
    for (int i = 0; i < 4; ++i) step(batch_of(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    EXPECT_EQ(step.streams(), captured ? expected.streams : 0);
    return state_of(*net);
  });
}

void expect_eager_results_of_small_net(const std::function<torch::Tensor(SmallNetImpl&, const Batch&)>& loss,
                                       const Expected& expected, bool has_norm = true) {
  expect_eager_results<SmallNetImpl>([&] { return make_net(0, has_norm); }, loss,
                                     [](int i) { return make_batch(i); }, expected);
}

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
  expect_eager_results_of_small_net(loss, {0, fresh}, false);  // probes draw after it
  expect_eager_results_of_small_net(loss, {0, fresh, GraphOptions().streams(0)}, false);
}

TEST(Unusual, ALossThatAsksWhichParametersAreTrained) {
  SADAM_NEEDS_GPU();
  const auto loss = [](SmallNetImpl& net, const Batch& batch) {
    auto sum = loss_of(net, batch);
    for (const auto& parameter : net.parameters())
      if (parameter.requires_grad()) sum = sum + 0.1 * parameter.square().sum();
    return sum;
  };
  expect_eager_results_of_small_net(loss, {3});
  expect_eager_results<SmallNetImpl>(
      [&] {
        auto net = make_net(0);
        net->conv->weight.set_requires_grad(false);
        return net;
      },
      loss, [](int i) { return make_batch(i); }, {3});
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

/// Looks up vectors, which it shortens in place.
struct ShorteningImpl : torch::nn::Cloneable<ShorteningImpl> {
  ShorteningImpl() { reset(); }
  void reset() override {
    table = register_module("table", torch::nn::Embedding(torch::nn::EmbeddingOptions(20, 4).max_norm(0.5)));
    fc = register_module("fc", torch::nn::Linear(4, 3));
  }
  torch::nn::Embedding table{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Shortening);

TEST(Unusual, AForwardPassThatWritesTrainedWeights) {
  SADAM_NEEDS_GPU();
  expect_eager_results<ShorteningImpl>(
      [] { return Shortening(); },
      [](ShorteningImpl& net, const Batch& batch) {
        return net.fc->forward(net.table->forward(batch[0])).square().mean();
      },
      [](int i) { return Batch{(torch::arange(6) * (i + 2) + i).remainder(20).to(torch::kCUDA)}; }, {0});
}

/// Compares itself with a running mean of its own weights, which it moves on in each forward pass.
struct MomentumImpl : torch::nn::Cloneable<MomentumImpl> {
  MomentumImpl() { reset(); }
  void reset() override {
    fc = register_module("fc", torch::nn::Linear(4, 3));
    slow = register_module("slow", torch::nn::Linear(4, 3));
    for (auto& parameter : slow->parameters()) parameter.set_requires_grad(false);
  }
  torch::Tensor loss(const torch::Tensor& x) {
    {
      const torch::NoGradGuard no_grad;
      slow->weight.mul_(0.5).add_(fc->weight, 0.5);
    }
    return (fc->forward(x) - slow->forward(x)).square().mean() + fc->forward(x).abs().mean();
  }
  torch::nn::Linear fc{nullptr};
  torch::nn::Linear slow{nullptr};
};
TORCH_MODULE(Momentum);

TEST(Unusual, AForwardPassThatWritesFrozenWeights) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const std::int64_t probes : {0, 3})  // without probes there are no replicas to object to
    expect_eager_results<MomentumImpl>(
        [] { return Momentum(); }, [](MomentumImpl& net, const Batch& batch) { return net.loss(batch[0]); },
        [&](int) { return Batch{x}; },
        {0, probes == 0 ? SAdamOptions(1e-2).damping(0) : SAdamOptions(1e-2).probes(probes)});
}

/// Compares itself with half its weights, which it writes down in the evaluation with gradients alone.
struct GuardedImpl : torch::nn::Cloneable<GuardedImpl> {
  explicit GuardedImpl(bool is_registered) : registers(is_registered) { reset(); }
  void reset() override {
    fc = register_module("fc", torch::nn::Linear(4, 3));
    const auto start = torch::ones({3, 4}, torch::kCUDA);
    if (registers)
      half = register_parameter("half", start, /*requires_grad=*/false);
    else if (!half.defined())
      half = start;  // which copies share
  }
  torch::Tensor loss(const torch::Tensor& x) {
    if (torch::GradMode::is_enabled()) {
      const torch::NoGradGuard no_grad;
      half.copy_(0.5 * fc->weight);
    }
    return (fc->forward(x) - torch::matmul(x, half.t())).abs().mean();
  }
  bool registers;
  torch::nn::Linear fc{nullptr};
  torch::Tensor half;
};
TORCH_MODULE(Guarded);

TEST(Unusual, AForwardPassThatWritesOnlyWithGradients) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool registers : {true, false})
    expect_eager_results<GuardedImpl>([&] { return Guarded(registers); },
                                      [](GuardedImpl& net, const Batch& batch) { return net.loss(batch[0]); },
                                      [&](int i) { return Batch{x * (i + 1)}; }, {0});
}

/// A part of a module that is not Cloneable, so that copies of the whole have one of their own making.
struct ShiftImpl : torch::nn::Module {
  explicit ShiftImpl(bool is_registered) {
    amount = torch::arange(4.0);
    if (is_registered) amount = register_buffer("amount", amount);
  }
  torch::Tensor amount;
};
TORCH_MODULE(Shift);

struct ShiftedImpl : torch::nn::Cloneable<ShiftedImpl> {
  explicit ShiftedImpl(bool is_registered) : registers(is_registered) { reset(); }
  void reset() override {
    shift = register_module("shift", Shift(registers));
    fc = register_module("fc", torch::nn::Linear(4, 3));
  }
  bool registers;
  Shift shift{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Shifted);

TEST(Unusual, ACopyThatCannotBeEvaluated) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool registers : {true, false})
    expect_eager_results<ShiftedImpl>(
        [&] {
          Shifted net(registers);
          if (!registers) net->shift->amount = net->shift->amount.to(torch::kCUDA);
          return net;
        },
        [](ShiftedImpl& net, const Batch& batch) {
          return net.fc->forward(batch[0] + net.shift->amount).abs().mean();
        },
        [&](int) { return Batch{x}; }, {0});
}

/// The same batch norm twice, which copies have as two.
TEST(Unusual, BuffersWithTwoNames) {
  SADAM_NEEDS_GPU();
  const auto make = [] {
    torch::nn::BatchNorm2d norm(4);
    return torch::nn::Sequential(torch::nn::Conv2d(3, 4, 3), norm, torch::nn::ReLU(), norm,
                                 torch::nn::Flatten());
  };
  const auto loss = [](torch::nn::SequentialImpl& net, const Batch& batch) {
    return net.forward(batch[0]).abs().mean();
  };
  const auto batch_of = [](int i) { return Batch{make_batch(i)[0]}; };
  expect_eager_results<torch::nn::SequentialImpl>(make, loss, batch_of, {3});
  expect_eager_results<torch::nn::SequentialImpl>(make, loss, batch_of,
                                                  {0, SAdamOptions::reference(1e-2).probes(3)});
}

TEST(Unusual, ALossThatRemembersItsModuleInPart) {
  SADAM_NEEDS_GPU();
  SmallNetImpl* remembered = nullptr;
  expect_eager_results<SmallNetImpl>(
      [&] {
        auto net = make_net(0);
        remembered = net.get();
        return net;
      },
      [&](SmallNetImpl& net, const Batch& batch) {
        return loss_of(net, batch) + 0.01 * remembered->fc->weight.square().sum();
      },
      [](int i) { return make_batch(i); }, {0});
}

/// A copy of it has twice the layers.
struct GrowingImpl : torch::nn::Cloneable<GrowingImpl> {
  GrowingImpl() { reset(); }
  void reset() override {
    for (int i = 0; i < 2; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(4, 4)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = torch::tanh(layer->forward(x));
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};
TORCH_MODULE(Growing);

TEST(Unusual, ACopyThatIsAnotherNetwork) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  expect_eager_results<GrowingImpl>(
      [] { return Growing(); },
      [](GrowingImpl& net, const Batch& batch) { return net.forward(batch[0]).square().mean(); },
      [&](int) { return Batch{x}; }, {0});
}

/// Its copies have its weights themselves, or others.
struct OwnCloneImpl : torch::nn::Module {
  explicit OwnCloneImpl(bool is_shallow) : shallow(is_shallow) {
    fc = register_module("fc", torch::nn::Linear(4, 3));
  }
  std::shared_ptr<torch::nn::Module> clone(const std::optional<torch::Device>& device) const override {
    if (shallow) return std::make_shared<OwnCloneImpl>(*this);
    auto other = std::make_shared<OwnCloneImpl>(false);
    other->to(device.value_or(torch::kCUDA));
    return other;
  }
  bool shallow;
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(OwnClone);

TEST(Unusual, ACloneThatCopiesNoWeights) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool shallow : {true, false})
    expect_eager_results<OwnCloneImpl>(
        [&] { return OwnClone(shallow); },
        [](OwnCloneImpl& net, const Batch& batch) { return net.fc->forward(batch[0]).square().mean(); },
        [&](int) { return Batch{x}; }, {shallow ? 0 : 3});
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
