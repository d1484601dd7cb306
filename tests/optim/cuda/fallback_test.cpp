#include <c10/core/AutogradState.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

const std::string kWaitsOrAllocates = "waits for the device, as .item() does, or allocates";

TEST(GraphedStepFallback, ALossThatWaitsForTheDeviceIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  expect_eager_steps_with(kWaitsOrAllocates, [](SmallNetImpl& net, const Batch& batch) {
    auto loss = loss_of(net, batch);
    return loss.item<double>() < 1e9 ? loss : loss * 0;
  });
}

// Whether it notices that it got no memory or not.
void allocate_outside_torch(bool notices) {
  void* memory = nullptr;
  const auto answer = cudaMalloc(&memory, 1024);
  if (notices && answer != cudaSuccess) throw std::runtime_error("no memory");
  if (memory != nullptr) cudaFree(memory);
}

TEST(GraphedStepFallback, ALossThatAllocatesOutsideTorchIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  for (const bool notices : {true, false}) {
    expect_eager_steps_with(kWaitsOrAllocates, [notices](SmallNetImpl& net, const Batch& batch) {
      allocate_outside_torch(notices);
      return loss_of(net, batch);
    });
  }
}

/// Its argument, unchanged; its backward pass does something before it passes the gradient on.
struct Disturbed : torch::autograd::Function<Disturbed> {
  enum Kind : std::int64_t { waits, notices, allocates };

  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               std::int64_t kind) {
    context->saved_data["kind"] = kind;
    return x.clone();
  }
  static std::vector<torch::Tensor> backward(torch::autograd::AutogradContext* context,
                                             const std::vector<torch::Tensor>& gradients) {
    const auto kind = context->saved_data["kind"].toInt();
    auto gradient = gradients[0];
    if (kind == waits)
      gradient = gradient.item<double>() < 1e9 ? gradient : gradient * 0;
    else
      allocate_outside_torch(kind == notices);
    return {gradient, torch::Tensor()};
  }
};

// Autograd has threads of its own, to which CUDA would allow it.
TEST(GraphedStepFallback, ABackwardPassThatWaitsOrAllocatesIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  for (const std::int64_t kind : {Disturbed::waits, Disturbed::notices, Disturbed::allocates}) {
    expect_eager_steps_with(kWaitsOrAllocates, [kind](SmallNetImpl& net, const Batch& batch) {
      return Disturbed::apply(loss_of(net, batch), kind);
    });
  }
  EXPECT_TRUE(c10::AutogradState::get_tls_state().get_multithreading_enabled()) << "not put back";
}

// Takes steps that cannot be captured, and eager ones: one warning says why, and they are the same.
void expect_eager_steps(const std::function<SAdam(SmallNet&)>& optimizer_of, const std::string& why) {
  expect_the_same([&](bool graphed) {
    auto net = make_net(0);
    auto optimizer = optimizer_of(net);
    GraphedStep step(net, optimizer, loss_of);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      const auto batch = make_batch(i);
      if (graphed)
        step(batch);
      else
        optimizer.step([&] { return loss_of(*net, batch); });
    }
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find(why) != std::string::npos, graphed) << said;
    EXPECT_EQ(said.find(why), said.rfind(why)) << "said once: " << said;
    EXPECT_FALSE(step.is_captured());
    return state_of(*net);
  });
}

TEST(GraphedStepFallback, GroupsThatAreProbedOneByOneAreTakenEagerly) {
  SADAM_NEEDS_GPU();
  expect_eager_steps(
      [](SmallNet& net) {
        std::vector<torch::optim::OptimizerParamGroup> groups;
        groups.emplace_back(net->conv->parameters());
        groups.emplace_back(net->fc->parameters());
        return SAdam(groups, SAdamOptions::reference(1e-2));
      },
      "group_by_group with several groups");
}

TEST(GraphedStepFallback, ASourceOfTheCallersIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  expect_eager_steps(
      [](SmallNet& net) {
        const auto parameters = net->parameters();
        return SAdam(*net, SAdamOptions(1e-2).source([parameters](const auto& request) {
          return torch::ones_like(parameters[static_cast<std::size_t>(request.parameter)]) / 20;
        }));
      },
      "a direction source of the caller's");
}

TEST(GraphedStepFallback, ALossThatUsesOtherParametersNextTimeIsTakenEagerly) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  AdamW optimizer(*net);
  int calls = 0;
  GraphedStep step(net, optimizer, [&](SmallNetImpl& module, const Batch& batch) {
    const auto features = module.conv->forward(batch[0]);
    return ++calls % 2 == 1 ? module.norm->forward(features).square().mean() + features.mean()
                            : features.mean();
  });
  for (int i = 0; i < 4; ++i) step(make_batch(i));
  EXPECT_FALSE(step.is_captured());
  EXPECT_NE(step.why_not().find("same parameters"), std::string::npos) << step.why_not();
  EXPECT_EQ(optimizer.totals().steps, 4);
}

// What autograd keeps of it belongs to another stream than the capture's.
TEST(GraphedStepFallback, AnOutputThatIsStillHeldDoesNoHarm) {
  SADAM_NEEDS_GPU();
  expect_the_same([&](bool holds) {
    auto net = make_net(0);
    net->norm->eval();
    SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
    GraphedStep step(net, optimizer, loss_of);
    torch::Tensor held;
    if (holds) held = net->forward(make_batch(9)[0]);
    for (int i = 0; i < 4; ++i) step(make_batch(i));
    EXPECT_TRUE(holds || step.is_captured()) << step.why_not();
    EXPECT_EQ(step.is_captured(), step.why_not().find("is still held") == std::string::npos)
        << step.why_not();
    return state_of(*net);
  });
}

TEST(GraphedStepFallback, ANetworkCanBeCapturedAfterAnotherCouldNot) {
  SADAM_NEEDS_GPU();
  {
    auto net = make_net(0);
    AdamW optimizer(*net);
    GraphedStep step(net, optimizer, [&](SmallNetImpl& n, const Batch& b) {
      auto loss = loss_of(n, b);
      static_cast<void>(loss.item<double>());
      return loss;
    });
    step(make_batch(0));
    EXPECT_FALSE(step.is_captured());
  }
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0));
  EXPECT_TRUE(step.is_captured()) << step.why_not();
}

TEST(GraphedStepFallback, AnErrorOfTheLossReachesTheCallerAndChangesNothing) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2));
  GraphedStep step(net, optimizer,
                   [](SmallNetImpl&, const Batch&) -> torch::Tensor { throw Error("no loss today"); });
  const auto before = state_of(*net);
  EXPECT_THROW(step(make_batch(0)), Error);
  EXPECT_TRUE(equal(state_of(*net), before));
}

TEST(GraphedStepFallback, AnotherThreadMayUseTheDeviceDuringACapture) {
  SADAM_NEEDS_GPU();
  auto net = make_net();
  SAdam optimizer(*net, SAdamOptions(1e-2).probes(2));
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0, 1));  // libraries have been set up
  std::atomic<bool> stop = false;
  std::atomic<int> taken = 0;
  std::atomic<int> failures = 0;
  std::thread other([&] {
    std::vector<void*> all;
    while (!stop) {  // not through torch, which would take care
      all.push_back(nullptr);
      if (cudaMalloc(&all.back(), 256) != cudaSuccess) ++failures;
      ++taken;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    for (void* const memory : all) cudaFree(memory);
  });
  while (taken == 0) std::this_thread::yield();
  const int before = taken;
  for (std::int64_t size = 2; size < 12; ++size) {  // each is a capture
    step(make_batch(0, size));
    EXPECT_TRUE(step.is_captured()) << step.why_not();
  }
  EXPECT_GT(taken - before, 10);
  stop = true;
  other.join();
  EXPECT_EQ(failures, 0);
}

TEST(GraphedStepFallback, AnOptimizerThatWasMovedAwayIsRefused) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-2));
  GraphedStep step(net, optimizer, loss_of);
  step(make_batch(0));
  const SAdam elsewhere(std::move(optimizer));
  EXPECT_THROW(step(make_batch(1)), Error);
}

TEST(GraphedStepFallback, OnlySAdamTakesABrake) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  AdamW optimizer(*net);
  GraphedStep step(net, optimizer, loss_of);
  EXPECT_THROW(step(make_batch(0), 0.5), Error);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
