#include "step_on_gpu.h"

namespace sadam::kernels::cuda {
namespace {

TEST(CudaSetRules, WritesAnyNumberOfThem) {
  for (const std::size_t count : {0u, 1u, 32u, 33u, 100u}) {
    const DeviceArray<GroupRule> rules(std::vector<GroupRule>(count + 1));
    SetRules launch;
    launch.rules = rules.data();
    for (std::size_t i = 0; i < count; ++i) {
      auto rule = step_rule(static_cast<std::int64_t>(i));
      rule.given_brake = static_cast<double>(i);
      rule.adam.bias_correction = BiasCorrection::reference;
      rule.adam.damp_weight_decay = true;
      rule.momentum = 0.5;
      rule.l1 = 0.125;
      launch.values.push_back(rule);
    }
    set_rules(launch);
    const auto got = rules.values();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(got[i].adam.lr, 0.01 * static_cast<double>(i + 1));
      EXPECT_EQ(got[i].adam.bias_correction, BiasCorrection::reference);
      EXPECT_TRUE(got[i].adam.damp_weight_decay);
      EXPECT_EQ(got[i].given_brake, static_cast<double>(i));
      EXPECT_EQ(got[i].momentum, 0.5);
      EXPECT_EQ(got[i].l1, 0.125);
      EXPECT_EQ(got[i].brake, i == 0 ? Brake::exponential : Brake::proximal);
      EXPECT_EQ(got[i].damping, i == 0 ? 2 : 0.5);
    }
    EXPECT_EQ(got[count].adam.lr, GroupRule().adam.lr) << "one too many was written";
  }
}

TEST(CudaStartStep, ClearsTheLastStepAndPreparesTheUnbrakedOne) {
  StepOnGpu step({1, 2, 3}, {4, 5, 6});
  auto numbers = StepOnGpu::numbers_before();
  numbers.non_finite_gradient = 8;
  numbers.skip = 1;
  step.change(numbers);
  auto braked = step_rule(0);
  braked.adam.brake = 0.125;
  step.rules.set({braked, step_rule(1)});
  StartStep launch;
  launch.state = step.state();
  start_step(launch);

  const auto after = step.numbers.value();
  EXPECT_EQ(after.non_finite_gradient, 0);
  EXPECT_EQ(after.skip, 0);
  EXPECT_EQ(after.steps, 40);
  EXPECT_EQ(after.begun, 44);
  EXPECT_EQ(after.skipped, 4);
  EXPECT_EQ(after.non_finite_probes, 2);
  EXPECT_EQ(step.slopes.values(), std::vector<double>(3, 0));
  EXPECT_EQ(step.rules.values()[0].adam.brake, 0.125) << "the last brake stays known";
  const auto before = StepOnGpu::parameters_before();
  const auto parameters = step.parameters.values();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].t, before[i].t);
    expect_coefficients(parameters[i].coefficients,
                        coefficients_at(step_rule(before[i].group).adam, before[i].t + 1));
  }
}

}  // namespace
}  // namespace sadam::kernels::cuda
