// All that starts and ends a step works on, in one place, with some numbers in it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/kernels.h"

namespace sadam::kernels {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

inline GroupRule step_rule(std::int64_t group) {
  GroupRule rule;
  rule.lr = 0.01 * static_cast<double>(group + 1);
  rule.weight_decay = 0.1;
  rule.damping = group == 0 ? 2 : 0.5;
  rule.brake = group == 0 ? Brake::exponential : Brake::proximal;
  return rule;
}

/// The state whose arrays have the names of StepArrays, wherever they lie.
template <class Arrays>
StepState state_of(Arrays& arrays, std::int64_t groups, std::int64_t parameters, std::int64_t ring,
                   std::int64_t probes) {
  StepState state;
  state.numbers = arrays.numbers.data();
  state.rules = arrays.rules.data();
  state.memory = arrays.memory.data();
  state.groups = groups;
  state.parameters = arrays.parameters.data();
  state.parameter_count = parameters;
  state.loss = arrays.loss.data();
  state.base = arrays.base.data();
  state.probed = arrays.probed.data();
  state.slopes = arrays.slopes.data();
  state.records = arrays.records.data();
  state.ring = ring;
  state.probes = probes;
  return state;
}

/// Two groups; three parameters of the first, two of the second, one of each not trained. The step under way
/// is the 45th, the 41st that is not skipped; f(w) = 1.5.
struct StepArrays {
  static constexpr std::int64_t kGroups = 2, kParameters = 5, kRing = 3;
  std::int64_t probes;
  std::vector<StepNumbers> numbers;
  std::vector<GroupRule> rules;
  std::vector<GroupMemory> memory;
  std::vector<double> loss, base, probed, slopes, records;
  std::vector<ParameterNumbers> parameters;

  std::vector<double> last_lgi() const {
    std::vector<double> lgi;
    for (const auto& of_group : memory) lgi.push_back(of_group.lgi);
    return lgi;
  }

  static StepNumbers numbers_before() {
    StepNumbers before;
    before.steps = 40;
    before.begun = 44;
    before.skipped = 4;
    before.non_finite_probes = 2;
    return before;
  }
  static std::vector<ParameterNumbers> parameters_before() {
    std::vector<ParameterNumbers> before(kParameters);
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i].t = static_cast<std::int64_t>(10 * i);
      before[i].group = i < 3 ? 0 : 1;
      before[i].trained = i == 1 || i == 4 ? 0 : 1;
      before[i].coefficients.step_size = -7;  // none yet
    }
    return before;
  }

  explicit StepArrays(const std::vector<double>& given_probed, const std::vector<double>& given_slopes = {})
      : probes(static_cast<std::int64_t>(given_probed.size())),
        numbers({numbers_before()}),
        rules({step_rule(0), step_rule(1)}),
        memory({{0.25, 0.9}, {0.75, 0.8}}),
        loss({1.5}),
        base({1.5}),
        probed(given_probed),
        slopes(given_slopes.empty() ? std::vector<double>(given_probed.size()) : given_slopes),
        records(kRing * (kRecordHead + 2 * given_probed.size() + 2 * kGroups), -1),
        parameters(parameters_before()) {}

  StepState state() { return state_of(*this, kGroups, kParameters, kRing, probes); }

  /// All probes, in one round.
  Round round() const {
    Round round;
    round.end_group = kGroups;
    round.probes = probes;
    round.has_base = probes > 0;
    round.distance = 0.01;
    return round;
  }
  void finish(const Round& round) { cpu_kernels().finish_step({round, state(), {}}); }

  /// The record of the step that has begun as the (n + 1)th.
  std::vector<double> record(std::int64_t n = 44) const {
    const auto size = static_cast<std::int64_t>(records.size()) / kRing;
    return {records.begin() + n % kRing * size, records.begin() + (n % kRing + 1) * size};
  }
  /// Where in a record its parts begin.
  std::size_t differences_at() const { return kRecordHead; }
  std::size_t slopes_at() const { return static_cast<std::size_t>(kRecordHead + probes); }
  std::size_t lgi_at() const { return static_cast<std::size_t>(kRecordHead + 2 * probes); }
  std::size_t brakes_at() const { return lgi_at() + kGroups; }
};

/// The rounds of a step that probes its two groups one after the other, half of the probes each.
inline std::vector<Round> two_rounds(const StepArrays& step) {
  auto first = step.round(), second = step.round();
  first.probes = second.probes = step.probes / 2;
  first.end_group = 1;
  first.closes = false;
  second.first_group = 1;
  second.opens = false;
  second.first_probe = step.probes / 2;
  return {first, second};
}

/// A step whose brakes are wanted before its update: a round that only judges, and one that only applies.
inline std::vector<Round> split_rounds(const StepArrays& step) {
  auto judges = step.round(), applies = step.round();
  judges.applies = judges.closes = false;
  applies.opens = applies.has_loss = applies.has_base = false;
  applies.probes = 0;
  return {judges, applies};
}

}  // namespace sadam::kernels
