// What starts and ends a step is one text: the GPU must make of every case what the host makes of it, where
// kernels_test checks it against formulas.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/cuda/device_array.h"
#include "kernels/step_arrays.h"

namespace sadam::kernels::cuda {
namespace {

/// The same arrays on the GPU.
struct StepOnGpu {
  DeviceArray<StepNumbers> numbers;
  DeviceArray<GroupRule> rules;
  DeviceArray<GroupMemory> memory;
  DeviceArray<double> loss, base, probed, slopes, records;
  DeviceArray<ParameterNumbers> parameters;

  explicit StepOnGpu(const StepArrays& from)
      : numbers(from.numbers),
        rules(from.rules),
        memory(from.memory),
        loss(from.loss),
        base(from.base),
        probed(from.probed),
        slopes(from.slopes),
        records(from.records),
        parameters(from.parameters) {}

  StepState state(const StepArrays& like) {
    return state_of(*this, StepArrays::kGroups, StepArrays::kParameters, StepArrays::kRing, like.probes);
  }
};

/// The GPU's pow and exp are not those of the host to the last bit, and 1 − β^t magnifies that.
void expect_coefficients(const AdamCoefficients& got, const AdamCoefficients& want) {
  EXPECT_EQ(got.beta1, want.beta1);
  EXPECT_EQ(got.beta2, want.beta2);
  EXPECT_EQ(got.eps, want.eps);
  EXPECT_NEAR(got.root_scale, want.root_scale, 1e-12 * want.root_scale);
  EXPECT_NEAR(got.step_size, want.step_size, 1e-12 * std::abs(want.step_size));
  EXPECT_NEAR(got.decay, want.decay, 1e-15);
}

void expect_numbers(const std::vector<double>& got, const std::vector<double>& want, const char* array) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isfinite(want[i])) {
      EXPECT_NEAR(got[i], want[i], 1e-15 * std::max(1.0, std::abs(want[i]))) << array << ' ' << i;
    } else {
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << array << ' ' << i;
    }
  }
}

void expect_rule(const GroupRule& got, const GroupRule& want) {
  EXPECT_EQ(got.lr, want.lr);
  EXPECT_EQ(got.beta1, want.beta1);
  EXPECT_EQ(got.beta2, want.beta2);
  EXPECT_EQ(got.eps, want.eps);
  EXPECT_EQ(got.weight_decay, want.weight_decay);
  EXPECT_NEAR(got.applied_brake, want.applied_brake, 1e-15);
  EXPECT_EQ(got.bias_correction, want.bias_correction);
  EXPECT_EQ(got.damp_weight_decay, want.damp_weight_decay);
  EXPECT_EQ(got.damping, want.damping);
  EXPECT_EQ(got.given_brake, want.given_brake);
  EXPECT_EQ(got.momentum, want.momentum);
  EXPECT_EQ(got.l1, want.l1);
  EXPECT_EQ(got.brake, want.brake);
}

void expect_same(const StepOnGpu& got, const StepArrays& want) {
  const auto numbers = got.numbers.value();
  EXPECT_EQ(numbers.steps, want.numbers[0].steps);
  EXPECT_EQ(numbers.begun, want.numbers[0].begun);
  EXPECT_EQ(numbers.skipped, want.numbers[0].skipped);
  EXPECT_EQ(numbers.non_finite_probes, want.numbers[0].non_finite_probes);
  EXPECT_EQ(numbers.non_finite_gradient, want.numbers[0].non_finite_gradient);
  EXPECT_EQ(numbers.skip, want.numbers[0].skip);
  EXPECT_EQ(numbers.judged, want.numbers[0].judged);
  EXPECT_EQ(numbers.bad_probes, want.numbers[0].bad_probes);
  EXPECT_NEAR(numbers.lgi, want.numbers[0].lgi, 1e-15);
  const auto rules = got.rules.values();
  for (std::size_t g = 0; g < rules.size(); ++g) expect_rule(rules[g], want.rules[g]);
  const auto memory = got.memory.values();
  for (std::size_t g = 0; g < memory.size(); ++g) {
    EXPECT_NEAR(memory[g].lgi, want.memory[g].lgi, 1e-15) << g;
    EXPECT_NEAR(memory[g].brake, want.memory[g].brake, 1e-15) << g;
  }
  expect_numbers(got.loss.values(), want.loss, "loss");
  expect_numbers(got.base.values(), want.base, "base");
  expect_numbers(got.probed.values(), want.probed, "probed");
  expect_numbers(got.slopes.values(), want.slopes, "slopes");
  expect_numbers(got.records.values(), want.records, "record");
  const auto parameters = got.parameters.values();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].t, want.parameters[i].t);
    EXPECT_EQ(parameters[i].group, want.parameters[i].group);
    EXPECT_EQ(parameters[i].trained, want.parameters[i].trained);
    expect_coefficients(parameters[i].coefficients, want.parameters[i].coefficients);
  }
}

/// The rounds on both, compared after each.
void expect_the_hosts(const std::string& what, StepArrays step, const std::vector<Round>& rounds) {
  SCOPED_TRACE(what);
  StepOnGpu on_gpu(step);
  for (const auto& round : rounds) {
    cuda_kernels().finish_step({round, on_gpu.state(step), {}});
    step.finish(round);
    expect_same(on_gpu, step);
  }
}

StepArrays some_step(std::int64_t probes) {
  auto losses = random_values<double>(probes, 8, -0.02, 0.03);
  for (auto& loss : losses) loss += 1.5;
  return StepArrays(losses, random_values<double>(probes, 9, -2, 2));
}

// 300 are more than a block has threads.
TEST(CudaFinishStep, JudgesAsTheHostDoes) {
  for (const auto statistic : {Statistic::variance, Statistic::unbiased_variance, Statistic::residual}) {
    for (const std::int64_t probes : {0, 1, 2, 5, 256, 300}) {
      for (const double cap : {10.0, 0.3}) {
        const auto step = some_step(probes);
        auto round = step.round();
        round.statistic = statistic;
        round.cap = cap;
        round.rounding = 0x1p-23;
        round.probe_seconds = 0.125;
        expect_the_hosts(std::to_string(probes) + " probes", step, {round});
      }
    }
  }
}

TEST(CudaFinishStep, LooksAlongTheStepAsTheHostDoes) {
  const StepArrays step({1.2}, {-0.4});
  auto round = step.round();
  round.along_step = true;
  round.distance = 1;
  expect_the_hosts("along the step", step, {round});
}

TEST(CudaFinishStep, TakesBrakesAndNoiseAsTheHostDoes) {
  auto given = some_step(3);
  given.rules[1].given_brake = 0;
  expect_the_hosts("a given brake", given, {given.round()});
  const StepArrays still({1.5 + 1e-8, 1.5 + 1e-7});
  auto round = still.round();
  round.rounding = 0x1p-23;
  expect_the_hosts("within rounding", still, {round});
  for (const auto correction : {BiasCorrection::adamw, BiasCorrection::reference, BiasCorrection::none}) {
    auto step = some_step(3);
    step.rules[0].bias_correction = correction;
    step.rules[1].damp_weight_decay = true;
    expect_the_hosts("a bias correction", step, {step.round()});
  }
}

TEST(CudaFinishStep, SkipsAsTheHostDoes) {
  for (const double bad : {1.5, kNotANumber, kInfinite}) {
    for (const bool has_loss : {true, false}) {
      for (const bool has_base : {true, false}) {
        auto loss = some_step(4), base = some_step(4), gradient = some_step(4), probe = some_step(4);
        loss.loss = {bad};
        base.base = {bad};
        gradient.numbers[0].non_finite_gradient = 17;
        probe.probed[1] = bad;
        for (const auto& step : {loss, base, gradient, probe}) {
          auto round = step.round();
          round.has_loss = has_loss;
          round.has_base = has_base;
          round.probes = has_base ? 4 : 0;
          expect_the_hosts("one round", step, {round});
          auto rounds = two_rounds(step);
          expect_the_hosts("two rounds", step, rounds);
          rounds[0].probes = 0;
          expect_the_hosts("two rounds, one of them probed", step, rounds);
          expect_the_hosts("judged, then applied", step, split_rounds(step));
        }
      }
    }
  }
}

TEST(CudaFinishStep, GoesAroundTheRingAsTheHostDoes) {
  const auto step = some_step(2);
  expect_the_hosts("four steps", step, std::vector<Round>(4, step.round()));
}

// Some hundred groups and parameters: more than the block has threads.
TEST(CudaFinishStep, ReachesEveryGroupAndParameter) {
  constexpr std::int64_t kGroups = 300, kCount = 700;
  std::vector<GroupRule> rules;
  for (std::int64_t g = 0; g < kGroups; ++g) rules.push_back(step_rule(g));
  std::vector<ParameterNumbers> parameters(kCount);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].group = static_cast<std::int64_t>(i) % kGroups;
    parameters[i].trained = 1;
  }
  StepArrays some({1.4, 1.55});
  some.rules = rules;
  some.parameters = parameters;
  some.memory.assign(kGroups, {0.25, 0.9});
  some.records.assign(static_cast<std::size_t>(3 * (kRecordHead + 4 + 2 * kGroups)), -1);
  auto round = some.round();
  round.end_group = kGroups;
  StepOnGpu on_gpu(some);
  cuda_kernels().start_step({state_of(on_gpu, kGroups, kCount, 3, 2), {}});
  cpu_kernels().start_step({state_of(some, kGroups, kCount, 3, 2), {}});
  expect_same(on_gpu, some);
  cuda_kernels().finish_step({round, state_of(on_gpu, kGroups, kCount, 3, 2), {}});
  cpu_kernels().finish_step({round, state_of(some, kGroups, kCount, 3, 2), {}});
  expect_same(on_gpu, some);
  EXPECT_EQ(some.parameters[kCount - 1].t, 1);
}

TEST(CudaStartStep, ClearsAndPreparesAsTheHostDoes) {
  auto step = some_step(300);
  step.numbers[0].non_finite_gradient = 8;
  step.numbers[0].skip = 1;
  step.rules[0].applied_brake = 0.125;
  StepOnGpu on_gpu(step);
  cuda_kernels().start_step({on_gpu.state(step), {}});
  cpu_kernels().start_step({step.state(), {}});
  expect_same(on_gpu, step);
}

TEST(CudaSetRules, WritesAnyNumberOfThem) {
  for (const std::size_t count : {0u, 1u, 32u, 33u, 100u}) {
    const DeviceArray<GroupRule> rules(std::vector<GroupRule>(count + 1));
    SetRules launch;
    launch.rules = rules.data();
    for (std::size_t i = 0; i < count; ++i) {
      auto rule = step_rule(static_cast<std::int64_t>(i));
      rule.given_brake = static_cast<double>(i);
      rule.bias_correction = BiasCorrection::reference;
      rule.damp_weight_decay = true;
      rule.momentum = 0.5;
      rule.l1 = 0.125;
      launch.values.push_back(rule);
    }
    cuda_kernels().set_rules(launch);
    const auto got = rules.values();
    for (std::size_t i = 0; i < count; ++i) expect_rule(got[i], launch.values[i]);
    expect_rule(got[count], GroupRule());  // one more is not written
  }
}

}  // namespace
}  // namespace sadam::kernels::cuda
