// Moments, counts and ρ through saving, moving, copying and clearing.
#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

TEST(CudaState, ASavedStateContinuesAsIfNothingHadHappened) {
  SADAM_NEEDS_GPU();
  const Deterministic deterministic;
  const auto options = SAdamOptions(1e-2).probes(2);
  const auto train = [&](SmallNet& net, SAdam& optimizer, int first, int end) {
    for (int i = first; i < end; ++i) {
      const auto batch = make_batch(i);
      optimizer.step([&] { return loss_of(*net, batch); });
    }
  };
  auto whole = make_net(0);
  SAdam at_once(*whole, options);
  train(whole, at_once, 0, 8);

  auto halves = make_net(0);
  std::stringstream weights, state;
  {
    SAdam first(*halves, options);
    train(halves, first, 0, 4);
    torch::save(first, state);
  }
  SAdam second(*halves, options);
  torch::load(second, state);
  train(halves, second, 4, 8);
  for (std::size_t i = 0; i < whole->parameters().size(); ++i)
    EXPECT_TRUE(torch::equal(whole->parameters()[i], halves->parameters()[i])) << i;
  EXPECT_EQ(second.totals().steps, 8);
}

TEST(CudaState, AModelThatIsMovedTakesItsMomentsAlong) {
  SADAM_NEEDS_GPU();
  Problem stays(torch::kCPU);
  Problem moves(torch::kCPU);
  // Moved between two probes: ρ goes along, too.
  SAdam here({stays.a, stays.b}, SAdamOptions(1e-2).interval(3));
  SAdam there({moves.a, moves.b}, SAdamOptions(1e-2).interval(3));
  const auto move_to = [&](torch::Device device) {
    for (auto* tensor : {&moves.a, &moves.b}) {
      tensor->mutable_grad().reset();
      tensor->set_data(tensor->detach().to(device));
    }
    moves.x = moves.x.to(device);
    moves.y = moves.y.to(device);
  };
  for (int i = 0; i < 15; ++i) {
    if (i == 5) move_to(torch::kCUDA);
    if (i == 10) move_to(torch::kCPU);
    here.step([&] { return stays.loss(); });
    there.step([&] { return moves.loss(); });
    EXPECT_NEAR(there.summary().lgi, here.summary().lgi, 1e-4) << i;
  }
  EXPECT_LT((stays.a - moves.a.cpu()).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(there.totals().steps, 15);
  EXPECT_EQ(there.summary().step, here.summary().step);
}

TEST(CudaState, AStateThatIsClearedBeginsAnew) {
  SADAM_NEEDS_GPU();
  for (const bool saves : {false, true}) {
    Problem problem(torch::kCUDA);
    Problem other(torch::kCUDA);
    SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2).damping(0));
    for (int i = 0; i < 5; ++i) optimizer.step([&] { return problem.loss(); });
    {
      const torch::NoGradGuard no_grad;
      other.a.copy_(problem.a);
      other.b.copy_(problem.b);
    }
    SAdam fresh({other.a, other.b}, SAdamOptions(1e-2).damping(0));
    optimizer.state().clear();
    std::stringstream archive;
    if (saves) torch::save(optimizer, archive);
    for (int i = 0; i < 5; ++i) {
      optimizer.step([&] { return problem.loss(); });
      fresh.step([&] { return other.loss(); });
    }
    EXPECT_LT((problem.a - other.a).abs().max().item<double>(), 1e-6);
  }
}

// Copies share their moments with the originals, so that the device goes on; what is saved must be its count.
TEST(CudaState, AStateThatIsCopiedIsKeptUpToDate) {
  SADAM_NEEDS_GPU();
  Problem problem(torch::kCUDA);
  SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2));
  const auto closure = [&] { return problem.loss(); };
  for (int i = 0; i < 3; ++i) optimizer.step(closure);
  for (auto& entry : optimizer.state()) entry.second = entry.second->clone();
  for (int i = 0; i < 4; ++i) optimizer.step(closure);
  std::stringstream archive;
  torch::save(optimizer, archive);
  for (const auto& entry : optimizer.state())
    EXPECT_EQ(static_cast<AdamWParamState&>(*entry.second).step(), 7);
}

TEST(CudaState, AStateSavedAfterAFirstStepThatThrewCanBeLoaded) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net);
  EXPECT_THROW(optimizer.step([]() -> torch::Tensor { throw Error("no loss today"); }), Error);
  std::stringstream saved;
  torch::save(optimizer, saved);
  EXPECT_NO_THROW(torch::load(optimizer, saved));
}

TEST(CudaState, CountsOfUpdatesOutliveAParameterThatIsUnusedOnce) {
  SADAM_NEEDS_GPU();
  Problem here(torch::kCPU);
  Problem there(torch::kCUDA);
  AdamW on_cpu({here.a, here.b}, AdamWOptions(1e-2));
  AdamW on_gpu({there.a, there.b}, AdamWOptions(1e-2));
  for (int i = 0; i < 6; ++i) {
    const auto loss = [i](const Problem& p) { return i == 2 ? p.a.abs().mean() : p.loss(); };
    on_cpu.step([&] { return loss(here); });
    on_gpu.step([&] { return loss(there); });
  }
  EXPECT_LT((here.b - there.b.cpu()).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace sadam::optim::cuda_test
