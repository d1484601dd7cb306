#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "optim/cuda/support.h"

namespace sadam::optim::cuda_test {
namespace {

template <class Optimizer, class Options>
void expect_the_cpus_trajectory(const Options& options, double tolerance = 1e-9) {
  Problem cpu(torch::kCPU);
  Problem gpu(torch::kCUDA);
  Optimizer on_cpu(std::vector<torch::Tensor>{cpu.a, cpu.b}, options);
  Optimizer on_gpu(std::vector<torch::Tensor>{gpu.a, gpu.b}, options);
  for (int i = 0; i < 20; ++i) {
    on_cpu.step([&] { return cpu.loss(); });
    on_gpu.step([&] { return gpu.loss(); });
    const auto expected = on_cpu.summary();
    const auto found = on_gpu.summary();
    ASSERT_EQ(found.step, expected.step);
    ASSERT_EQ(found.probed, expected.probed);
    ASSERT_NEAR(found.loss, expected.loss, tolerance);
    ASSERT_NEAR(found.lgi, expected.lgi, 1e-4);
    ASSERT_NEAR(found.brake, expected.brake, 1e-4);
    ASSERT_EQ(found.differences.size(), expected.differences.size());
    ASSERT_EQ(found.slopes.size(), expected.slopes.size());
  }
  EXPECT_LT((cpu.a - gpu.a.cpu()).abs().max().item<double>(), tolerance);
  EXPECT_LT((cpu.b - gpu.b.cpu()).abs().max().item<double>(), tolerance);
  EXPECT_EQ(on_gpu.totals().steps, 20);
}

TEST(CudaEager, AdamWTakesTheCpusSteps) {
  SADAM_NEEDS_GPU();
  expect_the_cpus_trajectory<AdamW>(AdamWOptions(1e-2), 1e-11);
}

TEST(CudaEager, ProxSgdTakesTheCpusSteps) {
  SADAM_NEEDS_GPU();
  expect_the_cpus_trajectory<ProxSGD>(ProxSGDOptions(1e-2), 1e-11);
}

TEST(CudaEager, RivalsTakeTheCpusSteps) {
  SADAM_NEEDS_GPU();
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby}) {
    SCOPED_TRACE(to_string(place));
    expect_the_cpus_trajectory<AdamW>(AdamWOptions(1e-2).gradient_at(place).gradient_radius(0.1), 1e-9);
    expect_the_cpus_trajectory<ProxSGD>(ProxSGDOptions(1e-2).gradient_at(place).gradient_radius(0.1), 1e-9);
  }
  expect_the_cpus_trajectory<AdamW>(AdamWOptions(1e-2).final_ratio(10).bound_gamma(0.1), 1e-10);
}

TEST(CudaEager, WhatIsNotFiniteUphillIsSkipped) {
  SADAM_NEEDS_GPU();
  auto w = torch::full({3}, 2.0, torch::kCUDA).set_requires_grad(true);
  AdamW optimizer({w}, AdamWOptions(0.1).gradient_at(GradientAt::ascent));
  const auto f = [&] { return w.square().sum(); };
  optimizer.step(f);
  const auto before = w.detach().cpu();
  int calls = 0;
  optimizer.step([&] { return ++calls == 2 ? f() + std::nan("") : f(); });
  EXPECT_TRUE(optimizer.summary().skipped);
  optimizer.step([&] { return f() * std::nan(""); });
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_TRUE(torch::equal(before, w.cpu()));
}

TEST(CudaEager, SAdamTakesTheCpusStepsWithEveryDirectionAndStatistic) {
  SADAM_NEEDS_GPU();
  for (const auto directions : {Directions::sphere, Directions::per_tensor, Directions::rademacher})
    for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
      SCOPED_TRACE(to_string(directions) + ", " + to_string(statistic));
      expect_the_cpus_trajectory<SAdam>(
          SAdamOptions(1e-2).probes(4).directions(directions).statistic(statistic), 1e-6);
    }
  expect_the_cpus_trajectory<SAdam>(
      SAdamOptions(1e-2).directions(Directions::step).statistic(Statistic::residual), 1e-6);
  expect_the_cpus_trajectory<SAdam>(SAdamOptions::paper(1e-2), 1e-6);
  expect_the_cpus_trajectory<SAdam>(SAdamOptions::reference(1e-2), 1e-6);
}

TEST(CudaEager, SplitFormTakesTheCpusSteps) {
  SADAM_NEEDS_GPU();
  Problem cpu(torch::kCPU);
  Problem gpu(torch::kCUDA);
  const auto options = SAdamOptions(1e-2).probes(3).statistic(Statistic::residual);
  SAdam on_cpu({cpu.a, cpu.b}, options);
  SAdam on_gpu({gpu.a, gpu.b}, options);
  const auto step = [](SAdam& optimizer, const Problem& problem) {
    optimizer.begin();
    optimizer.zero_grad();
    const auto loss = problem.loss();
    loss.backward();
    const auto brakes = optimizer.probe([&] { return problem.loss(); }, loss.detach());
    optimizer.step(brakes);
  };
  for (int i = 0; i < 10; ++i) {
    step(on_cpu, cpu);
    step(on_gpu, gpu);
    ASSERT_NEAR(on_gpu.summary().lgi, on_cpu.summary().lgi, 1e-5);
    ASSERT_NEAR(on_gpu.summary().loss, on_cpu.summary().loss, 1e-6);
  }
  EXPECT_LT((cpu.a - gpu.a.cpu()).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(on_gpu.totals().steps, 10);
}

template <class Optimizer, class Options>
void expect_steps_that_do_not_wait(const Options& options) {
  auto net = make_net();
  Optimizer optimizer(*net, options);
  const auto batch = make_batch(0);
  const auto closure = [&] { return loss_of(*net, batch); };
  for (int i = 0; i < 2; ++i) optimizer.step(closure);  // makes the moments and the numbers, loads kernels
  {
    const NoWaiting scope;
    EXPECT_NO_THROW(optimizer.step(closure));
    optimizer.param_groups()[0].options().set_lr(1e-4);
    EXPECT_NO_THROW(optimizer.step(closure));
  }
  EXPECT_EQ(optimizer.totals().steps, 4);
}

TEST(CudaEager, StepsDoNotWaitForTheDevice) {
  SADAM_NEEDS_GPU();
  expect_steps_that_do_not_wait<SAdam>(SAdamOptions(1e-3).probes(2).statistic(Statistic::residual));
  expect_steps_that_do_not_wait<SAdam>(SAdamOptions::reference(1e-3));
  expect_steps_that_do_not_wait<SAdam>(
      SAdamOptions(1e-3).directions(Directions::step).statistic(Statistic::residual));
  expect_steps_that_do_not_wait<AdamW>(AdamWOptions(1e-3));
  expect_steps_that_do_not_wait<ProxSGD>(ProxSGDOptions(1e-3));
  for (const auto place : {GradientAt::ascent, GradientAt::adaptive_ascent, GradientAt::nearby})
    expect_steps_that_do_not_wait<AdamW>(AdamWOptions(1e-3).gradient_at(place).final_ratio(10));
  const auto number = torch::ones({1}, torch::kCUDA);
  EXPECT_EQ(number.item<float>(), 1);
  const NoWaiting scope;
  EXPECT_THROW(static_cast<void>(number.item<float>()), std::exception);  // it does watch
}

TEST(CudaEager, WhoeverAsksWaitsForStepsOnAnotherStream) {
  SADAM_NEEDS_GPU();
  Problem problem(torch::kCUDA);
  SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2));
  const auto closure = [&] { return problem.loss(); };
  optimizer.step(closure);
  c10::cuda::device_synchronize();
  {
    const c10::cuda::CUDAStreamGuard elsewhere(c10::cuda::getStreamFromPool());
    at::cuda::sleep(200'000'000);  // cycles: a tenth of a second
    optimizer.step(closure);
  }
  EXPECT_EQ(optimizer.summary().step, 1);
  EXPECT_EQ(optimizer.totals().steps, 2);
  c10::cuda::device_synchronize();
}

// Two groups, the second with options of its own, some without a brake and so without probes where groups are
// probed one by one.
TEST(CudaEager, GroupsTakeTheCpusSteps) {
  SADAM_NEEDS_GPU();
  for (const auto& options : {SAdamOptions(1e-2).probes(3), SAdamOptions(1e-2).statistic(Statistic::residual),
                              SAdamOptions::reference(1e-2), SAdamOptions::reference(1e-2).probes(3)})
    for (const double first_damping : {2.0, 0.0}) {
      Problem cpu(torch::kCPU);
      Problem gpu(torch::kCUDA);
      const auto optimizer_of = [&](const Problem& problem) {
        std::vector<torch::optim::OptimizerParamGroup> groups;
        auto first = options;
        first.damping(first_damping);
        auto second = options;
        second.damping(0.5).weight_decay(0.1).brake(Brake::proximal).set_lr(3e-2);
        groups.emplace_back(std::vector<torch::Tensor>{problem.a}, std::make_unique<SAdamOptions>(first));
        groups.emplace_back(std::vector<torch::Tensor>{problem.b}, std::make_unique<SAdamOptions>(second));
        return SAdam(groups, options);
      };
      auto on_cpu = optimizer_of(cpu);
      auto on_gpu = optimizer_of(gpu);
      for (int i = 0; i < 10; ++i) {
        on_cpu.step([&] { return cpu.loss(); });
        on_gpu.step([&] { return gpu.loss(); });
        const auto expected = on_cpu.summary();
        const auto found = on_gpu.summary();
        for (const auto numbers : {&StepSummary::differences, &StepSummary::slopes, &StepSummary::group_lgi,
                                   &StepSummary::group_brakes}) {
          ASSERT_EQ((found.*numbers).size(), (expected.*numbers).size());
          for (std::size_t j = 0; j < (found.*numbers).size(); ++j)
            ASSERT_NEAR((found.*numbers)[j], (expected.*numbers)[j], 1e-4) << "step " << i << ", " << j;
        }
      }
      EXPECT_LT((cpu.a - gpu.a.cpu()).abs().max().item<double>(), 1e-6);
      EXPECT_LT((cpu.b - gpu.b.cpu()).abs().max().item<double>(), 1e-6);
    }
}

TEST(CudaEager, ASourceOfTheCallersTakesTheCpusSteps) {
  SADAM_NEEDS_GPU();
  for (const auto statistic : {Statistic::variance, Statistic::residual}) {
    Problem cpu(torch::kCPU);
    Problem gpu(torch::kCUDA);
    const auto optimizer_of = [&](const Problem& problem) {
      const auto shapes = std::vector<torch::Tensor>{problem.a.detach(), problem.b.detach()};
      const auto generator = at::make_generator<at::CPUGeneratorImpl>(11);  // never the same twice
      return SAdam({problem.a, problem.b},
                   SAdamOptions(1e-2).probes(3).statistic(statistic).source([=](const auto& request) {
                     const auto& like = shapes[static_cast<std::size_t>(request.parameter)];
                     return (torch::randn(like.sizes(), generator, torch::kDouble) / 16).to(like.device());
                   }));
    };
    auto on_cpu = optimizer_of(cpu);
    auto on_gpu = optimizer_of(gpu);
    for (int i = 0; i < 10; ++i) {
      on_cpu.step([&] { return cpu.loss(); });
      on_gpu.step([&] { return gpu.loss(); });
      ASSERT_NEAR(on_gpu.summary().lgi, on_cpu.summary().lgi, 1e-5);
    }
    EXPECT_LT((cpu.a - gpu.a.cpu()).abs().max().item<double>(), 1e-6);
  }
}

TEST(CudaEager, ASourceThatReturnsAnotherKindOfTensorIsRefusedInASentence) {
  SADAM_NEEDS_GPU();
  Problem problem(torch::kCUDA);
  SAdam optimizer({problem.a},
                  SAdamOptions(1e-2).source([&](const auto&) { return problem.a.detach().cpu(); }));
  EXPECT_TRUE(
      says(refusal([&] { optimizer.step([&] { return problem.loss(); }); }), "return one shaped like"));
}

// A closure may replace its buffers, by others of another shape or type even.
TEST(CudaEager, BuffersThatAClosureReplacedArePutBack) {
  SADAM_NEEDS_GPU();
  const auto on_gpu = torch::TensorOptions().device(torch::kCUDA);
  for (const double bad : {1.0, std::nan("")}) {
    Problem problem(torch::kCUDA);
    auto shape = torch::arange(1000.0, on_gpu);
    auto type = torch::arange(8, on_gpu);
    auto order = torch::arange(20.0, on_gpu).view({4, 5});
    auto shorter = torch::arange(512.0 * 128, on_gpu).view({128, 512});
    const std::vector<torch::Tensor> before = {shape.cpu(), type.cpu(), order.cpu(), shorter.cpu()};
    SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2).probes(3));
    optimizer.protect({shape, type, order, shorter});
    int calls = 0;
    optimizer.step([&] {
      ++calls;
      EXPECT_EQ(shape.numel(), 1000) << "evaluation " << calls;
      EXPECT_EQ(type.scalar_type(), torch::kLong) << "evaluation " << calls;
      EXPECT_TRUE(torch::equal(order.cpu(), before[2])) << "evaluation " << calls;
      EXPECT_EQ(shorter.size(0), 128) << "evaluation " << calls;
      shape.set_data(torch::zeros({3}, on_gpu));
      type.set_data(torch::zeros({8}, on_gpu.dtype(torch::kInt)));
      order.set_data(torch::zeros({5, 4}, on_gpu).t());
      shorter.set_data(torch::zeros({100, 512}, on_gpu));
      return problem.loss() * bad;
    });
    if (bad == 1) {
      EXPECT_GE(calls, 4);  // one more where training is in TF32
      EXPECT_EQ(shape.numel(), 3) << "as the base evaluation left it";
    } else {  // nothing has happened
      EXPECT_TRUE(optimizer.summary().skipped);
      EXPECT_TRUE(equal({shape.cpu(), type.cpu(), order.cpu(), shorter.cpu()}, before));
    }
  }
}

// Its gradients are, so that only the loss says it.
TEST(CudaEager, ASplitStepWithALossThatIsNotFiniteIsSkipped) {
  SADAM_NEEDS_GPU();
  for (const auto device : {torch::kCPU, torch::kCUDA}) {
    Problem problem(device);
    SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2).probes(2));
    const auto step = [&](double more) {
      const auto loss_fn = [&] { return problem.loss() + more; };
      optimizer.begin();
      optimizer.zero_grad();
      const auto loss = loss_fn();
      loss.backward();
      optimizer.step(optimizer.probe(loss_fn, loss));
    };
    step(0);
    const auto before = problem.a.detach().clone();
    step(HUGE_VAL);
    EXPECT_TRUE(optimizer.summary().skipped) << device;
    EXPECT_EQ(optimizer.totals().skipped, 1) << device;
    EXPECT_TRUE(torch::equal(before, problem.a)) << device;
    step(0);
    EXPECT_FALSE(optimizer.summary().skipped) << device;
    EXPECT_EQ(optimizer.totals().steps, 2) << device;
  }
}

TEST(CudaEager, ABrakeOfTheCallersKeepsTheLastLgi) {
  SADAM_NEEDS_GPU();
  for (const auto device : {torch::kCPU, torch::kCUDA}) {
    Problem problem(device);
    SAdam optimizer({problem.a, problem.b}, SAdamOptions(1e-2).probes(3));
    for (int i = 0; i < 3; ++i) optimizer.step([&] { return problem.loss(); });
    const double lgi = optimizer.summary().lgi;
    ASSERT_GT(lgi, 0);
    optimizer.zero_grad();
    problem.loss().backward();
    optimizer.step(1.0);
    EXPECT_EQ(optimizer.summary().lgi, lgi) << device;
    EXPECT_EQ(optimizer.summary().group_lgi, std::vector<double>{lgi}) << device;
  }
}

TEST(CudaEager, WithoutABrakeSAdamIsAdamWBitForBit) {
  SADAM_NEEDS_GPU();
  for (const auto& options : {SAdamOptions(1e-2).damping(0), SAdamOptions(1e-2).damping(0).monitor(true),
                              SAdamOptions(1e-2).probes(1)})
    for (const bool captured : {false, true})
      expect_the_same([&](bool braked) {
        auto net = make_net(0);
        SAdam s_adam(*net, options);
        AdamW adam_w(*net, AdamWOptions(1e-2));
        GraphedStep step(net, braked ? static_cast<Optimizer&>(s_adam) : adam_w, loss_of,
                         GraphOptions().capture(captured));
        for (int i = 0; i < 5; ++i) step(make_batch(i));
        EXPECT_EQ(step.is_captured(), captured) << step.why_not();
        return state_of(*net);
      });
}

TEST(CudaEager, ASkippedStepChangesNothing) {
  SADAM_NEEDS_GPU();
  auto net = make_net(0);
  SAdam optimizer(*net, SAdamOptions(1e-3));
  auto batch = make_batch(0);
  optimizer.step([&] { return loss_of(*net, batch); });
  const auto before = state_of(*net);
  const auto poisoned = Batch{batch[0] * std::numeric_limits<float>::quiet_NaN(), batch[1]};
  optimizer.step([&] { return loss_of(*net, poisoned); });
  EXPECT_TRUE(optimizer.summary().skipped);
  EXPECT_EQ(optimizer.summary().non_finite_loss, 1);
  EXPECT_GT(optimizer.summary().non_finite_gradient, 0);
  EXPECT_EQ(optimizer.totals().steps, 1);
  EXPECT_EQ(optimizer.totals().skipped, 1);
  EXPECT_TRUE(equal(state_of(*net), before));
  optimizer.step([&] { return loss_of(*net, batch); });
  EXPECT_FALSE(optimizer.summary().skipped);
  EXPECT_EQ(optimizer.totals().steps, 2);
}

TEST(CudaEager, ProbesLeaveWeightsBuffersAndGeneratorAsTheBaseEvaluationDid) {
  SADAM_NEEDS_GPU();
  auto probed = make_net();
  auto plain = make_net();
  torch::manual_seed(11);
  const auto batch = make_batch(1);
  SAdam with_probes(*probed, SAdamOptions(0).weight_decay(0).probes(4));
  with_probes.step([&] { return loss_of(*probed, batch); });
  const auto state = state_of(*probed);
  torch::manual_seed(11);
  loss_of(*plain, batch).backward();
  EXPECT_TRUE(equal(state, state_of(*plain)));
}

TEST(CudaEager, ParametersWithGapsAreProbedAndUpdated) {
  SADAM_NEEDS_GPU();
  torch::manual_seed(4);
  const auto values = torch::randn({6, 24}, torch::kDouble);
  const auto leaf = [&](torch::Device device) {
    return values.to(device).slice(1, 0, 24, 2).detach().set_requires_grad(true);
  };
  auto cpu = leaf(torch::kCPU);
  auto gpu = leaf(torch::kCUDA);
  ASSERT_FALSE(gpu.is_contiguous());
  SAdam on_cpu({cpu}, SAdamOptions(1e-2).probes(3));
  SAdam on_gpu({gpu}, SAdamOptions(1e-2).probes(3));
  for (int i = 0; i < 5; ++i) {
    on_cpu.step([&] { return cpu.abs().sum(); });
    on_gpu.step([&] { return gpu.abs().sum(); });
  }
  EXPECT_LT((cpu - gpu.cpu()).abs().max().item<double>(), 1e-9);
}

TEST(CudaEager, PermutedParametersWithGapsAreProbedAlongTheStep) {
  SADAM_NEEDS_GPU();
  torch::manual_seed(4);
  const auto values = torch::randn({6, 24}, torch::kDouble);
  const auto leaf = [&](torch::Device device) {
    return values.to(device).slice(1, 0, 24, 2).t().detach().set_requires_grad(true);
  };
  auto cpu = leaf(torch::kCPU);
  auto gpu = leaf(torch::kCUDA);
  const auto options = SAdamOptions(1e-2).directions(Directions::step).statistic(Statistic::residual);
  SAdam on_cpu({cpu}, options);
  SAdam on_gpu({gpu}, options);
  for (int i = 0; i < 5; ++i) {
    on_cpu.step([&] { return cpu.abs().sum() + cpu.pow(2).select(1, 0).sum(); });
    on_gpu.step([&] { return gpu.abs().sum() + gpu.pow(2).select(1, 0).sum(); });
    EXPECT_NEAR(on_cpu.summary().lgi, on_gpu.summary().lgi, 1e-9);
  }
  EXPECT_LT((cpu - gpu.cpu()).abs().max().item<double>(), 1e-9);
}

// A loss in float64 that is computed from weights in float32 is no finer than they are.
TEST(CudaEager, WhatIsFinerThanTheWeightsIsNoise) {
  SADAM_NEEDS_GPU();
  for (const auto device : {torch::kCPU, torch::kCUDA})
    for (const auto type : {torch::kFloat, torch::kDouble}) {
      auto w = torch::full({8}, 1e-3, torch::dtype(type).device(device)).set_requires_grad(true);
      SAdam optimizer({w}, SAdamOptions(1e-3).probes(2).radius(1e-6));
      optimizer.step([&] { return 1000 + w.to(torch::kDouble).sum(); });
      EXPECT_GT(std::abs(optimizer.summary().differences[0]), 0);
      EXPECT_EQ(optimizer.summary().within_noise, type == torch::kFloat) << device << ", " << type;
    }
}

}  // namespace
}  // namespace sadam::optim::cuda_test
