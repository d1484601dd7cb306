// All that the small kernels of a step work on, in one place, with some numbers in it.
#pragma once

#include <limits>

#include "device_array.h"
#include "kernels/cuda/kernels.h"

namespace sadam::kernels::cuda {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

inline GroupRule step_rule(std::int64_t group) {
  GroupRule rule;
  rule.adam.lr = 0.01 * static_cast<double>(group + 1);
  rule.adam.weight_decay = 0.1;
  rule.damping = group == 0 ? 2 : 0.5;
  rule.brake = group == 0 ? Brake::exponential : Brake::proximal;
  return rule;
}

/// Two groups; three parameters of the first, two of the second, one of each not trained.
struct StepOnGpu {
  static constexpr std::int64_t kGroups = 2, kRing = 3;
  std::int64_t probes;
  DeviceArray<StepNumbers> numbers;
  DeviceArray<GroupRule> rules;
  DeviceArray<double> last_lgi, loss, base, probed, slopes, records;
  DeviceArray<ParameterNumbers> parameters;

  static StepNumbers numbers_before() {
    StepNumbers before;
    before.steps = 40;
    before.begun = 44;
    before.skipped = 4;
    before.non_finite_probes = 2;
    return before;
  }
  static std::vector<ParameterNumbers> parameters_before() {
    std::vector<ParameterNumbers> before(5);
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i].t = static_cast<std::int64_t>(10 * i);
      before[i].group = i < 3 ? 0 : 1;
      before[i].trained = i == 1 || i == 4 ? 0 : 1;
      before[i].coefficients.step_size = -7;  // none yet
    }
    return before;
  }

  explicit StepOnGpu(const std::vector<double>& given_probed, const std::vector<double>& given_slopes = {})
      : probes(static_cast<std::int64_t>(given_probed.size())),
        numbers({numbers_before()}),
        rules({step_rule(0), step_rule(1)}),
        last_lgi({0.25, 0.75}),
        loss({1.5}),
        base({1.5}),
        probed(given_probed),
        slopes(given_slopes.empty() ? std::vector<double>(given_probed.size()) : given_slopes),
        records(std::vector<double>(static_cast<std::size_t>(kRing * record_size()), -1)),
        parameters(parameters_before()) {}

  StepState state() const {
    StepState state;
    state.numbers = numbers.data();
    state.rules = rules.data();
    state.last_lgi = last_lgi.data();
    state.groups = kGroups;
    state.parameters = parameters.data();
    state.parameter_count = 5;
    state.loss = loss.data();
    state.base = base.data();
    state.probed = probed.data();
    state.slopes = slopes.data();
    state.records = records.data();
    state.ring = kRing;
    state.probes = probes;
    return state;
  }
  std::int64_t record_size() const { return kRecordHead + 2 * probes + 2 * kGroups; }

  /// All probes, in one round.
  FinishProbes finish() const {
    FinishProbes launch;
    launch.state = state();
    launch.end_group = kGroups;
    launch.probes = probes;
    launch.distance = 0.01;
    return launch;
  }

  void change(StepNumbers to) { numbers.set({to}); }

  /// Record `slot` of the ring.
  std::vector<double> record(std::int64_t slot) const {
    const auto all = records.values();
    return {all.begin() + slot * record_size(), all.begin() + (slot + 1) * record_size()};
  }
  /// Where in a record its parts begin.
  std::size_t differences_at() const { return kRecordHead; }
  std::size_t slopes_at() const { return static_cast<std::size_t>(kRecordHead + probes); }
  std::size_t lgi_at() const { return static_cast<std::size_t>(kRecordHead + 2 * probes); }
  std::size_t brakes_at() const { return lgi_at() + kGroups; }
};

/// The GPU's pow and exp are not those of the host to the last bit, and 1 − β^t magnifies that.
inline void expect_coefficients(const AdamCoefficients& got, const AdamCoefficients& want) {
  EXPECT_EQ(got.beta1, want.beta1);
  EXPECT_EQ(got.beta2, want.beta2);
  EXPECT_EQ(got.eps, want.eps);
  EXPECT_NEAR(got.root_scale, want.root_scale, 1e-12 * want.root_scale);
  EXPECT_NEAR(got.step_size, want.step_size, 1e-12 * want.step_size);
  EXPECT_NEAR(got.decay, want.decay, 1e-15);
}

}  // namespace sadam::kernels::cuda
