// Probes side by side, and modules and losses for which that will not do: probes are then one after the
// other. Either way a captured step is an eager one.
#include <functional>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

TEST(SideBySide, CopiesThatDoNotFitLeaveTheProbesOnOneStream) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
  GraphedStep step(net, optimizer, loss_of, GraphOptions().replica_memory(0));
  step(make_batch(0));
  EXPECT_TRUE(step.is_captured());
  EXPECT_EQ(step.streams(), 0);
}

TEST(SideBySide, AModuleWithoutACloneIsNothingSpecial) {
  SADAM_NEEDS_GPU();
  struct PlainImpl : torch::nn::Module {
    PlainImpl() { fc = register_module("fc", torch::nn::Linear(4, 3)); }
    torch::nn::Linear fc{nullptr};
  };
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  expect_eager_results<PlainImpl>(
      [] { return torch::nn::ModuleHolder<PlainImpl>(std::make_shared<PlainImpl>()); },
      [](PlainImpl& net, const Batch& batch) { return net.fc->forward(batch[0]).square().mean(); },
      [&](int i) { return Batch{x * (i + 1)}; }, {3});
}

TEST(SideBySide, ALossMayTakeItsModuleOrRememberIt) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool remembers) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    torch::manual_seed(5);
    const auto take = [&](GraphedStep step) {
      for (int i = 0; i < 4; ++i) step(make_batch(i));
      EXPECT_TRUE(step.is_captured()) << step.why_not();
      EXPECT_EQ(step.streams(), 3);
    };
    if (remembers)
      take(GraphedStep(net, optimizer, [&](const Batch& b) { return loss_of(*net, b); }));
    else
      take(
          GraphedStep(net, optimizer, [](SmallNetImpl& given, const Batch& b) { return loss_of(given, b); }));
    EXPECT_GT(optimizer.summary().lgi, 0);
    return state_of(*net);
  });
}

// Dropout and batch norm see another batch in the probes than in the base evaluation.
TEST(SideBySide, ProbesOnPartOfTheBatchAreTheEagerOnes) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    torch::manual_seed(5);
    GraphedStep step(net, optimizer, loss_of, GraphOptions().capture(captured));
    step.probe_with([&](const Batch& batch) {
      return loss_of(*net, {batch[0].narrow(0, 0, 2), batch[1].narrow(0, 0, 2)});
    });
    for (int i = 0; i < 4; ++i) step(make_batch(i));
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    EXPECT_GT(optimizer.summary().lgi, 0);
    auto state = state_of(*net);
    state.push_back(torch::tensor(optimizer.summary().differences, torch::kDouble));
    return state;
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

// What is not registered is written by all probes, which must then take turns.
TEST(SideBySide, AForwardPassMayWriteItsBuffersAndWithoutStreamsOtherTensorsToo) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool registers : {true, false}) {
    double counted[2] = {0, 0};
    expect_the_same([&](bool graphed) {
      torch::manual_seed(7);
      Counting net(registers);
      net->to(torch::kCUDA);
      SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
      GraphedStep step(
          net, optimizer, [&](const Batch& batch) { return net->forward(batch[0]).square().mean(); },
          GraphOptions().capture(graphed).streams(registers ? -1 : 0));
      for (int i = 0; i < 2; ++i) step({x});
      const double before = net->count.item<double>();
      step({x});
      counted[graphed] = net->count.item<double>() - before;
      EXPECT_EQ(step.is_captured(), graphed) << step.why_not();
      EXPECT_EQ(step.streams(), graphed && registers ? 3 : 0);
      return state_of(*net);
    });
    EXPECT_EQ(counted[0], counted[1]);
    if (registers)
      EXPECT_EQ(counted[1], 5) << "the base evaluation's alone";
    else
      EXPECT_GE(counted[1], 5 * 4) << "those of the probes, too";
  }
}

TEST(SideBySide, ALossThatAsksWhichParametersAreTrained) {
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

TEST(SideBySide, AForwardPassThatWritesTrainedWeights) {
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

TEST(SideBySide, AForwardPassMayWriteFrozenWeightsThatAreProtected) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const std::int64_t probes : {0, 3})
    expect_the_same([&](bool captured) {
      torch::manual_seed(7);
      Momentum net;
      net->to(torch::kCUDA);
      SAdam optimizer(net->fc->parameters(),
                      probes == 0 ? SAdamOptions(1e-2).damping(0) : SAdamOptions(1e-2).probes(probes));
      optimizer.protect(net->slow->parameters());
      GraphedStep step(
          net, optimizer, [&](const Batch& batch) { return net->loss(batch[0]); },
          GraphOptions().capture(captured));
      for (int i = 0; i < 4; ++i) step({x});
      EXPECT_EQ(step.is_captured(), captured) << step.why_not();
      EXPECT_EQ(step.streams(), captured ? probes : 0);
      return state_of(*net);
    });
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

TEST(SideBySide, AForwardPassThatWritesOnlyWithGradients) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  for (const bool registers : {true, false})  // what is registered is seen to be written
    expect_eager_results<GuardedImpl>(
        [&] { return Guarded(registers); },
        [](GuardedImpl& net, const Batch& batch) { return net.loss(batch[0]); },
        [&](int i) { return Batch{x * (i + 1)}; },
        {0, SAdamOptions(1e-2).probes(3), GraphOptions().streams(registers ? -1 : 0)});
}

/// The same batch norm twice.
TEST(SideBySide, BuffersWithTwoNames) {
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
                                                  {1, SAdamOptions::reference(1e-2).probes(3)});
}

/// Reads its weights through a view that it has kept, so that other memory is not seen.
struct KeptViewImpl : torch::nn::Module {
  KeptViewImpl() { weight = register_parameter("weight", torch::randn({4, 3}, torch::kCUDA)); }
  torch::Tensor forward(const torch::Tensor& x) {
    if (!view.defined()) view = weight.view({12});
    return torch::matmul(x, view.view({4, 3}));
  }
  torch::Tensor weight;
  torch::Tensor view;
};
TORCH_MODULE(KeptView);

TEST(SideBySide, ALossThatReadsWeightsThroughAViewIsNoticedAndTheyAreMovedInPlace) {
  SADAM_NEEDS_GPU();
  const auto x = torch::ones({5, 4}, torch::kCUDA);
  torch::manual_seed(7);
  KeptView net;
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
  // Each evaluation of the base makes a graph through the view: a fresh one for it.
  GraphedStep step(net, optimizer, [&](const Batch& batch) {
    if (torch::GradMode::is_enabled()) net->view = net->weight.view({12});
    return net->forward(batch[0]).abs().mean();
  });
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) step({x});
  const auto said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("does not see the weights"), std::string::npos) << said;
  EXPECT_EQ(step.streams(), 0);
  const auto differences = optimizer.summary().differences;
  EXPECT_NE(differences.at(0), 0);
  EXPECT_NE(differences.at(0), differences.at(1));
}

/// A recurrent layer, whose weights cuDNN wants in one block.
TEST(SideBySide, ARecurrentLayerKeepsItsWeightsInOneBlock) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool captured) {
    torch::manual_seed(7);
    torch::nn::LSTM net(torch::nn::LSTMOptions(4, 6).batch_first(true));
    net->to(torch::kCUDA);
    net->flatten_parameters();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    GraphedStep step(
        net, optimizer, [&](const Batch& b) { return std::get<0>(net->forward(b[0])).square().mean(); },
        GraphOptions().capture(captured));
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) step({torch::ones({5, 7, 4}, torch::kCUDA) * (i + 1)});
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("contiguous chunk"), std::string::npos) << said;
    EXPECT_EQ(step.is_captured(), captured) << step.why_not();
    EXPECT_EQ(step.streams(), captured ? 3 : 0);
    return state_of(*net);
  });
}

}  // namespace
}  // namespace sadam::optim::cuda_test
