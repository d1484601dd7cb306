// Probes on copies of the module, and modules and losses for which copies will not do: probes are then in
// place. Either way a captured step is an eager one.
#include <functional>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

TEST(Replicas, ReplicasThatDoNotFitLeaveTheProbesInPlace) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
  GraphedStep step(net, optimizer, loss_of, GraphOptions().replica_memory(0));
  step(make_batch(0));
  EXPECT_TRUE(step.is_captured());
  EXPECT_EQ(step.streams(), 0);
}

TEST(Replicas, AModuleWithoutACloneIsProbedInPlace) {
  SADAM_NEEDS_GPU();
  struct PlainImpl : torch::nn::Module {
    PlainImpl() { fc = register_module("fc", torch::nn::Linear(4, 3)); }
    torch::nn::Linear fc{nullptr};
  };
  auto module = std::make_shared<PlainImpl>();
  module->to(torch::kCUDA);
  SAdam optimizer(*module, SAdamOptions(1e-2).probes(2));
  GraphedStep step(module, optimizer, [](torch::nn::Module& m, const Batch& b) {
    return static_cast<PlainImpl&>(m).fc->forward(b[0]).square().mean();
  });
  step({torch::randn({5, 4}, torch::kCUDA)});
  EXPECT_TRUE(step.is_captured()) << step.why_not();
  EXPECT_EQ(step.streams(), 0);
}

TEST(Replicas, ALossThatRemembersItsModuleIsProbedInPlace) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool remembers) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    torch::manual_seed(5);
    GraphedStep step(net, optimizer, [&](SmallNetImpl& given, const Batch& b) {
      return loss_of(remembers ? *net : given, b);
    });
    for (int i = 0; i < 4; ++i) step(make_batch(i));
    EXPECT_TRUE(step.is_captured()) << step.why_not();
    EXPECT_EQ(step.streams(), remembers ? 0 : 3);
    EXPECT_GT(optimizer.summary().lgi, 0);
    return state_of(*net);
  });
}

/// Counts what it has seen, in a tensor that it does not register.
struct CountingImpl : torch::nn::Cloneable<CountingImpl> {
  explicit CountingImpl(bool registers) : registers_(registers) { reset(); }
  void reset() override {
    fc = register_module("fc", torch::nn::Linear(4, 3));
    const auto none = torch::zeros({1}, torch::kCUDA);
    if (registers_)
      count = register_buffer("count", none);
    else if (!count.defined())
      count = none;
  }
  torch::Tensor forward(const torch::Tensor& x) {
    {
      const torch::NoGradGuard no_grad;
      count.add_(static_cast<double>(x.size(0)));
    }
    return fc->forward(x);
  }
  bool registers_;
  torch::nn::Linear fc{nullptr};
  torch::Tensor count;
};
TORCH_MODULE(Counting);

TEST(Replicas, AForwardPassThatWritesWhatReplicasShareIsProbedInPlace) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  const auto loss = [](CountingImpl& net, const Batch& batch) {
    return net.forward(batch[0]).square().mean();
  };
  for (const bool registers : {true, false}) {
    expect_the_same([&](bool graphed) {
      torch::manual_seed(7);
      Counting net(registers);
      net->to(torch::kCUDA);
      SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
      GraphedStep step(net, optimizer, loss);
      ::testing::internal::CaptureStderr();
      for (int i = 0; i < 3; ++i) {
        if (graphed)
          step({x});
        else
          optimizer.step([&] { return loss(*net, {x}); });
      }
      const auto said = ::testing::internal::GetCapturedStderr();
      if (graphed) {
        EXPECT_TRUE(step.is_captured()) << step.why_not();
        EXPECT_EQ(step.streams(), registers ? 3 : 0);
        EXPECT_EQ(said.find("tensors that copies of the module share") == std::string::npos, registers)
            << said;
      }
      return state_of(*net);
    });
  }
}

TEST(Replicas, ALossThatAsksWhichParametersAreTrained) {
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

TEST(Replicas, AForwardPassThatWritesTrainedWeights) {
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

TEST(Replicas, AForwardPassThatWritesFrozenWeights) {
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

TEST(Replicas, AForwardPassThatWritesOnlyWithGradients) {
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

TEST(Replicas, ACopyThatCannotBeEvaluated) {
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
TEST(Replicas, BuffersWithTwoNames) {
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

TEST(Replicas, ALossThatRemembersItsModuleInPart) {
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

TEST(Replicas, ACopyThatIsAnotherNetwork) {
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

TEST(Replicas, ACloneThatCopiesNoWeights) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool shallow : {true, false})
    expect_eager_results<OwnCloneImpl>(
        [&] { return OwnClone(shallow); },
        [](OwnCloneImpl& net, const Batch& batch) { return net.fc->forward(batch[0]).square().mean(); },
        [&](int) { return Batch{x}; }, {shallow ? 0 : 3});
}

}  // namespace
}  // namespace sadam::optim::cuda_test
