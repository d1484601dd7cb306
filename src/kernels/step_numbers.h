// The numbers of a step: rules of the groups, counts, losses, and what ends it. A handful of numbers, in
// double, by the same text on the host and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/adam_rule.h"
#include "kernels/lgi.h"
#include "kernels/math.h"

namespace sadam::kernels {

/// Counts over an optimizer's life, and what the step under way has found so far.
struct StepNumbers {
  std::int64_t steps = 0;    ///< updates applied: what directions are numbered by
  std::int64_t begun = 0;    ///< steps begun, skipped ones too: where the record of a step goes
  std::int64_t skipped = 0;  ///< steps skipped
  std::int64_t non_finite_probes = 0;

  std::int64_t non_finite_gradient = 0;  ///< elements of this step's gradient
  std::int64_t skip = 0;                 ///< this step changes nothing
  std::int64_t judged = 0;               ///< this round has a ρ of its own: `lgi`
  std::int64_t bad_probes = 0;           ///< of this round
  double lgi = 0;
};

/// What a parameter needs beside its arrays.
struct ParameterNumbers {
  std::int64_t t = 0;  ///< its updates so far
  std::int64_t group = 0;
  std::int64_t trained = 0;       ///< it has a gradient in this step
  AdamCoefficients coefficients;  ///< of the coming update
};

/// The record of a step in the ring: kRecordHead numbers, then D (k), slopes (k), ρ (groups), brakes
/// (groups), all double. D and slopes of the probes that were judged come first, without gaps.
enum RecordField {
  kRecordStep,  ///< StepNumbers::steps before the step
  kRecordLoss,
  kRecordProbed,  ///< how many probes were judged
  kRecordWithinNoise,
  kRecordSkipped,
  kRecordNonFiniteLoss,
  kRecordNonFiniteGradient,
  kRecordNonFiniteProbes,
  kRecordProbeSeconds,
  kRecordHead
};

/// What a group keeps from step to step.
struct GroupMemory {
  double lgi = 0;    ///< the last ρ, for the steps between probes
  double brake = 1;  ///< the α of `Brake::held`
};

/// Where all of this lies.
struct StepState {
  StepNumbers* numbers = nullptr;
  GroupRule* rules = nullptr;
  GroupMemory* memory = nullptr;  ///< of each group
  std::int64_t groups = 0;
  ParameterNumbers* parameters = nullptr;
  std::int64_t parameter_count = 0;
  double* loss = nullptr;     ///< f(w) of the training pass
  double* base = nullptr;     ///< f(w) as the probes see it
  double* probed = nullptr;   ///< f at each probe
  double* slopes = nullptr;   ///< ⟨g, u_i⟩
  double* records = nullptr;  ///< the ring
  std::int64_t ring = 0;      ///< records in it
  std::int64_t probes = 0;    ///< of all rounds together: room for D and slopes in a record

  SADAM_HD std::int64_t record_size() const { return kRecordHead + 2 * probes + 2 * groups; }
  /// The record of the step under way.
  SADAM_HD double* record() const { return records + numbers->begun % ring * record_size(); }
};

/// A round of a step: some groups, their probes and their update. Most steps have one.
struct Round {
  std::int64_t first_group = 0;
  std::int64_t end_group = 0;
  bool opens = true;    ///< the first of the step: starts its record
  bool applies = true;  ///< an update follows. If not, only ρ and the brakes are wanted for now
  bool closes = true;   ///< the last of the step

  std::int64_t probes = 0;       ///< evaluated in this round; 0: ρ stays the last one
  std::int64_t first_probe = 0;  ///< where this round's numbers begin in `probed` and `slopes`
  bool has_loss = true;          ///< `loss` is known: a step without a closure has none
  bool has_base = false;         ///< `base` is known: some round of the step probes
  double rounding = 0;           ///< spacing, near 1, of the coarsest type on the way to a loss
  double probe_seconds = 0;      ///< that the host spent on the probes

  Statistic statistic = Statistic::variance;
  bool along_step = false;  ///< `Directions::step`
  double distance = 1;      ///< δ; 1 along the step
  double lgi_eps = 0;
  double cap = 1.7976931348623157e308;  ///< none
};

/// Who works on the numbers: one thread of the host, or a block of threads on a GPU.
struct Team {
  int rank = 0;
  int size = 1;
  SADAM_HD void sync() const {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
};

SADAM_HD bool is_finite(double x) { return all_finite(&x, 1); }

/// The skip rule: a step changes nothing if f(w), as training or as the probes see it, or an element of the
/// gradient is not finite. (A step in several calls has its loss in the first: open_record() notes whether
/// that was finite, and finish_round() asks it too.)
SADAM_HD bool must_skip(const StepState& state, bool has_loss, bool has_base) {
  return (has_loss && !is_finite(*state.loss)) || (has_base && !is_finite(*state.base)) ||
         state.numbers->non_finite_gradient > 0;
}

// Without λ S-Adam is AdamW, whatever α was.
SADAM_HD bool is_held(const GroupRule& rule) { return rule.brake == Brake::held && rule.damping > 0; }

/// The α that `Brake::held` goes on from; 1 where nothing is held.
SADAM_HD double held_before(const GroupRule& rule, const GroupMemory& memory) {
  return is_held(rule) ? std::fmin(memory.brake, rule.ceiling) : 1;
}

/// Clears what the last step found, and makes the coefficients that `Directions::step` looks along: without a
/// brake, unless it is held.
SADAM_HD void begin_numbers(const StepState& state, const Team& team) {
  if (team.rank == 0) {
    state.numbers->non_finite_gradient = 0;
    state.numbers->skip = 0;
  }
  // Slopes are added to, type by type.
  for (std::int64_t i = team.rank; i < state.probes; i += team.size) state.slopes[i] = 0;
  for (std::int64_t i = team.rank; i < state.parameter_count; i += team.size) {
    ParameterNumbers& parameter = state.parameters[i];
    const GroupRule& rule = state.rules[parameter.group];
    const double brake = held_before(rule, state.memory[parameter.group]);
    parameter.coefficients = coefficients_at(rule, brake, parameter.t + 1);
  }
}

/// The record of a step that has found nothing yet: ρ as it was, no brake.
SADAM_HD void open_record(const Round& round, const StepState& state, double* record, const Team& team) {
  const double none = std::nan("");
  for (std::int64_t i = team.rank; i < 2 * state.probes; i += team.size) record[kRecordHead + i] = none;
  double* const lgi = record + kRecordHead + 2 * state.probes;
  for (std::int64_t g = team.rank; g < state.groups; g += team.size) {
    lgi[g] = state.memory[g].lgi;
    lgi[state.groups + g] = 1;
  }
  if (team.rank != 0) return;
  for (int field = 0; field < kRecordHead; ++field) record[field] = 0;
  record[kRecordStep] = static_cast<double>(state.numbers->steps);
  // f(w) as the probes see it can overflow where the training pass, in another precision, did not.
  const bool training_is_fine = round.has_loss && is_finite(*state.loss);
  const bool use_base = round.has_base && (!round.has_loss || (training_is_fine && !is_finite(*state.base)));
  const double loss = use_base ? *state.base : round.has_loss ? *state.loss : none;
  record[kRecordLoss] = loss;
  record[kRecordNonFiniteLoss] = (round.has_loss || round.has_base) && !is_finite(loss) ? 1 : 0;
}

/// By one: D, ρ and what the record says of the probes.
SADAM_HD void judge(const Round& round, const StepState& state, double* record) {
  const auto recorded = static_cast<std::int64_t>(record[kRecordProbed]);
  double* const differences = record + kRecordHead + recorded;
  double* const slopes = differences + state.probes;
  const bool wants_slopes = round.along_step || reads_slopes(round.statistic);
  const double base = *state.base;
  StepNumbers& numbers = *state.numbers;
  bool beyond_noise = false;
  for (std::int64_t i = 0; i < round.probes; ++i) {
    const double loss = state.probed[round.first_probe + i];
    const double change = loss - base;
    differences[i] = change / round.distance;
    if (wants_slopes) slopes[i] = state.slopes[round.first_probe + i];
    if (!is_finite(loss)) ++numbers.bad_probes;
    // Both losses are rounded, each by half a spacing of the coarsest type on the way to it or more.
    const double spacing = round.rounding * std::fmax(std::fabs(base), std::fabs(loss));
    if (!is_finite(change) || std::fabs(change) > 2 * spacing) beyond_noise = true;
  }
  const double raw = round.along_step
                         ? step_lgi_of(differences[0], slopes[0])
                         : lgi_of(round.statistic, {differences, slopes, round.probes}, round.lgi_eps);
  numbers.lgi = round.cap < raw ? round.cap : raw;
  numbers.judged = 1;
  numbers.non_finite_probes += numbers.bad_probes;
  const bool noise_so_far = record[kRecordWithinNoise] != 0 || recorded == 0;
  record[kRecordWithinNoise] = !beyond_noise && noise_so_far ? 1 : 0;
  record[kRecordProbed] += static_cast<double>(round.probes);
  record[kRecordNonFiniteProbes] += static_cast<double>(numbers.bad_probes);
}

SADAM_HD void set_brakes(const Round& round, const StepState& state, double* record, const Team& team) {
  const StepNumbers& numbers = *state.numbers;
  double* const lgi = record + kRecordHead + 2 * state.probes;
  for (std::int64_t g = round.first_group + team.rank; g < round.end_group; g += team.size) {
    GroupRule& rule = state.rules[g];
    GroupMemory& memory = state.memory[g];
    // A ρ that only says "not finite" is for this step alone, not for those until the next probe.
    if (numbers.judged != 0) lgi[g] = numbers.lgi;
    if (numbers.judged != 0 && numbers.bad_probes == 0) memory.lgi = numbers.lgi;
    double brake = held_before(rule, memory);
    if (rule.given_brake >= 0)
      brake = rule.given_brake;
    else if (rule.damping > 0 && (rule.brake != Brake::held || numbers.judged != 0))  // else between probes
      brake = brake_of(rule.brake, rule.damping, lgi[g], {brake, rule.target, rule.ceiling});
    if (rule.given_brake < 0 && is_held(rule)) memory.brake = brake;
    rule.applied_brake = brake;
    lgi[state.groups + g] = rule.applied_brake;
  }
}

/// What ends a round: judges its probes, decides whether the step is skipped, sets the brakes, makes the
/// coefficients of the update that follows, and writes the record.
SADAM_HD void finish_round(const Round& round, const StepState& state, const Team& team) {
  StepNumbers& numbers = *state.numbers;
  double* const record = state.record();
  if (round.opens) open_record(round, state, record, team);
  team.sync();
  if (team.rank == 0) {
    if (round.opens || round.applies)
      numbers.skip =
          must_skip(state, round.has_loss, round.has_base) || record[kRecordNonFiniteLoss] != 0 ? 1 : 0;
    record[kRecordNonFiniteGradient] = static_cast<double>(numbers.non_finite_gradient);
    record[kRecordProbeSeconds] += round.probe_seconds;
    numbers.judged = 0;
    numbers.bad_probes = 0;
    if (round.probes > 0 && numbers.skip == 0) judge(round, state, record);
  }
  team.sync();
  const bool skip = numbers.skip != 0;
  if (!skip || !round.applies) set_brakes(round, state, record, team);
  team.sync();
  if (!skip && round.applies)
    for (std::int64_t i = team.rank; i < state.parameter_count; i += team.size) {
      ParameterNumbers& parameter = state.parameters[i];
      if (parameter.trained == 0 || parameter.group < round.first_group || parameter.group >= round.end_group)
        continue;
      ++parameter.t;
      const GroupRule& rule = state.rules[parameter.group];
      parameter.coefficients = coefficients_at(rule, rule.applied_brake, parameter.t);
    }
  if (round.closes && team.rank == 0) {
    record[kRecordSkipped] = skip ? 1 : 0;
    numbers.skipped += skip ? 1 : 0;
    numbers.steps += skip ? 0 : 1;
    ++numbers.begun;
  }
}

}  // namespace sadam::kernels
