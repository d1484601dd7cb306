// Small networks on a GPU, and what is compared between runs.
#pragma once

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <sadam/sadam.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/gpu.h"
#include "support/no_waiting.h"
#include "support/refusal.h"

namespace sadam::optim::cuda_test {

using sadam::testing::NoWaiting;
using sadam::testing::refusal;
using sadam::testing::says;

using Batch = std::vector<torch::Tensor>;

/// Convolution, batch norm, dropout, linear: everything that a forward pass may write or draw.
struct SmallNetImpl : torch::nn::Cloneable<SmallNetImpl> {
  explicit SmallNetImpl(double dropout = 0.25, bool has_norm = true)
      : dropout_(dropout), has_norm_(has_norm) {
    reset();
  }
  void reset() override {
    conv = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)));
    if (has_norm_) norm = register_module("norm", torch::nn::BatchNorm2d(8));
    drop = register_module("drop", torch::nn::Dropout(dropout_));
    fc = register_module("fc", torch::nn::Linear(8 * 6 * 6, 5));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto features = conv->forward(x);
    if (has_norm_) features = norm->forward(features);
    return fc->forward(drop->forward(torch::relu(features).flatten(1)));
  }
  double dropout_;
  bool has_norm_;
  torch::nn::Conv2d conv{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(SmallNet);

inline torch::Tensor loss_of(SmallNetImpl& net, const Batch& batch) {
  return torch::nn::functional::cross_entropy(net.forward(batch[0]).to(torch::kDouble), batch[1]);
}

inline SmallNet make_net(double dropout = 0.25, bool has_norm = true) {
  torch::manual_seed(7);
  SmallNet net(dropout, has_norm);
  net->to(torch::kCUDA);
  return net;
}

/// Batch i of a stream that is the same in every run.
inline Batch make_batch(std::int64_t i, std::int64_t size = 8) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1000 + static_cast<std::uint64_t>(i));
  return {torch::randn({size, 3, 6, 6}, generator, torch::kFloat).to(torch::kCUDA),
          torch::randint(5, {size}, generator, torch::kLong).to(torch::kCUDA)};
}

/// Everything that a run leaves behind: weights, buffers, the generators' positions.
inline std::vector<torch::Tensor> state_of(const torch::nn::Module& module) {
  std::vector<torch::Tensor> state;
  for (const auto& parameter : module.parameters()) state.push_back(parameter.detach().cpu().clone());
  for (const auto& buffer : module.buffers()) state.push_back(buffer.cpu().clone());
  state.push_back(at::globalContext().defaultGenerator(at::Device(at::kCUDA, 0)).get_state());
  state.push_back(at::globalContext().defaultGenerator(at::kCPU).get_state());
  return state;
}

inline ::testing::AssertionResult equal(const std::vector<torch::Tensor>& a,
                                        const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "different numbers of tensors";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!torch::equal(a[i], b[i]))
      return ::testing::AssertionFailure()
             << "tensor " << i << " differs by up to "
             << (a[i].to(torch::kDouble) - b[i].to(torch::kDouble)).abs().max().item<double>();
  return ::testing::AssertionSuccess();
}

/// While it lives, torch uses deterministic algorithms only.
class Deterministic {
 public:
  Deterministic() {
    at::globalContext().setDeterministicAlgorithms(true, false);
    at::globalContext().setDeterministicCuDNN(true);
    at::globalContext().setBenchmarkCuDNN(false);
  }
  ~Deterministic() {
    at::globalContext().setDeterministicAlgorithms(false, false);
    at::globalContext().setDeterministicCuDNN(false);
  }
};

/// While it lives, torch may use TF32 or may not. Probes never do, so that with it f(w) is evaluated once
/// more.
class Tf32 {
 public:
  explicit Tf32(bool allowed) : cudnn_(context().allowTF32CuDNN()), cublas_(context().allowTF32CuBLAS()) {
    allow(allowed, allowed);
  }
  ~Tf32() { allow(cudnn_, cublas_); }
  Tf32(const Tf32&) = delete;
  Tf32& operator=(const Tf32&) = delete;

 private:
  static at::Context& context() { return at::globalContext(); }
  static void allow(bool cudnn, bool cublas) {
    context().setAllowTF32CuDNN(cudnn);
    context().setAllowTF32CuBLAS(cublas);
  }
  bool cudnn_;
  bool cublas_;
};

/// Calls `check` in float32 and in TF32.
template <class Check>
void in_both_precisions(const Check& check) {
  for (const bool allowed : {false, true}) {
    SCOPED_TRACE(allowed ? "in TF32" : "in float32");
    const Tf32 scope(allowed);
    check();
  }
}

/// A loss without convolutions, so that CPU and GPU can be compared in float64.
struct Problem {
  torch::Tensor a, b, x, y;
  explicit Problem(torch::Device device) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(3);
    const auto draw = [&](at::IntArrayRef shape) {
      return torch::randn(shape, generator, torch::kDouble).to(device);
    };
    a = draw({7, 33}).set_requires_grad(true);
    b = draw({33}).set_requires_grad(true);
    x = draw({19, 7});
    y = draw({19, 33});
  }
  torch::Tensor loss() const { return (torch::tanh(torch::matmul(x, a) + b) - y).abs().mean(); }
};

/// What two runs leave behind, called with false and with true, is the same to the bit.
template <class Run>
void expect_the_same(const Run& run) {
  const Deterministic deterministic;
  in_both_precisions([&] {
    const std::vector<torch::Tensor> one = run(false);
    EXPECT_TRUE(equal(one, run(true)));
  });
}

/// Takes steps of a small network with a loss that cannot be captured: one warning says why, and they are
/// eager steps. The loss has the values of `loss_of`.
inline void expect_eager_steps_with(const std::string& why,
                                    const std::function<torch::Tensor(SmallNetImpl&, const Batch&)>& loss) {
  expect_the_same([&](bool graphed) {
    auto net = make_net();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(3));
    GraphedStep step(net, optimizer, loss);
    torch::manual_seed(5);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 4; ++i) {
      const auto batch = make_batch(i);
      if (!graphed) {
        optimizer.step([&] { return loss_of(*net, batch); });
        continue;
      }
      step(batch);
      EXPECT_FALSE(step.is_captured());
      EXPECT_NE(step.why_not().find(why), std::string::npos) << step.why_not();
    }
    const auto said = ::testing::internal::GetCapturedStderr();
    const auto first = said.find("cannot be captured");
    EXPECT_EQ(first != std::string::npos, graphed) << said;
    EXPECT_EQ(first, said.rfind("cannot be captured")) << "said once: " << said;
    EXPECT_EQ(optimizer.totals().steps, 4);
    return state_of(*net);
  });
}

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

inline void expect_eager_results_of_small_net(
    const std::function<torch::Tensor(SmallNetImpl&, const Batch&)>& loss, const Expected& expected,
    bool has_norm = true) {
  expect_eager_results<SmallNetImpl>([&] { return make_net(0, has_norm); }, loss,
                                     [](int i) { return make_batch(i); }, expected);
}

}  // namespace sadam::optim::cuda_test
