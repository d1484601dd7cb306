// What comes before a step: the rules of its groups, and numbers that are cleared.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/step_arrays.h"

namespace sadam::kernels {
namespace {

TEST(SetRulesKernel, CopiesThemAll) {
  for (const std::size_t count : {0u, 1u, 33u}) {
    std::vector<GroupRule> rules(count + 1);
    SetRules launch;
    launch.rules = rules.data();
    for (std::size_t i = 0; i < count; ++i) {
      launch.values.push_back(step_rule(static_cast<std::int64_t>(i)));
      launch.values.back().given_brake = static_cast<double>(i);
    }
    cpu_kernels().set_rules(launch);
    launch.values.assign(count, GroupRule());  // the host's copy may change at once
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(rules[i].lr, 0.01 * static_cast<double>(i + 1));
      EXPECT_EQ(rules[i].given_brake, static_cast<double>(i));
    }
    EXPECT_EQ(rules[count].lr, GroupRule().lr) << "one too many was written";
  }
}

TEST(StartStepKernel, ClearsTheLastStepAndPreparesTheUnbrakedOne) {
  StepArrays step({1, 2, 3}, {4, 5, 6});
  step.numbers[0].non_finite_gradient = 8;
  step.numbers[0].skip = 1;
  step.rules[0].applied_brake = 0.125;
  cpu_kernels().start_step({step.state(), {}});

  const auto& after = step.numbers[0];
  EXPECT_EQ(after.non_finite_gradient, 0);
  EXPECT_EQ(after.skip, 0);
  EXPECT_EQ(after.steps, 40);
  EXPECT_EQ(after.begun, 44);
  EXPECT_EQ(after.skipped, 4);
  EXPECT_EQ(after.non_finite_probes, 2);
  EXPECT_EQ(step.slopes, std::vector<double>(3, 0));
  EXPECT_EQ(step.rules[0].applied_brake, 0.125) << "the last brake stays known";
  const auto before = StepArrays::parameters_before();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(step.parameters[i].t, before[i].t);
    const auto t = static_cast<double>(before[i].t + 1);
    const double lr = before[i].group == 0 ? 0.01 : 0.02;
    const auto& c = step.parameters[i].coefficients;
    EXPECT_NEAR(c.step_size, lr / (1 - std::pow(0.9, t)), 1e-14);
    EXPECT_NEAR(c.root_scale, 1 / std::sqrt(1 - std::pow(0.999, t)), 1e-11);
    EXPECT_NEAR(c.decay, 1 - lr * 0.1, 1e-16);
  }
}

}  // namespace
}  // namespace sadam::kernels
