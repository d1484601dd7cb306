// The CUDA kernels: the twins of the CPU's (kernels/kernels.h), enqueued on a stream and never waited for.
//
// A launch takes one struct. Its segments are arrays of the user's own, wherever they lie: their addresses
// travel as kernel arguments, a few dozen to a launch, so that nothing is moved, no table is kept on the
// device, and a captured graph holds all it needs. What the device computes for later kernels (lengths,
// coefficients, whether a step is to be skipped) is passed by address and stays there.
//
// The math of one element is the text that the CPU uses. Sums are made in double from partial sums that are
// cut by position alone: the same launch gives the same bits on every run.
//
// Pointers are to device memory, T is float or double. Free of libtorch and of CUDA's headers. A launch that
// the driver refuses throws `sadam::Error`.
#pragma once

#include <sadam/statistic.h>

#include <cstdint>
#include <vector>

#include "kernels/adam_rule.h"
#include "kernels/kernels.h"
#include "kernels/lgi.h"

struct CUstream_st;  // what cudaStream_t points to

namespace sadam::kernels::cuda {

using Stream = CUstream_st*;

/// Names one direction. The number of steps taken is read on the device, so that a captured graph makes new
/// directions each time it runs.
struct DirectionKey {
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;
  std::uint32_t probe = 0;  ///< below 65 536
};

/// Elements [first, first + count) of a normal direction, whose length is wanted.
struct LengthSegment {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  double* inverse = nullptr;  ///< 1/(‖z‖ + added), 0 where that divides by zero; written
};

/// 1/‖z‖ of each segment by itself.
struct InverseLengths {
  DirectionKey key;
  std::vector<LengthSegment> segments;
  double added = 0;
  double* scratch = nullptr;  ///< scratch_numbers(*this) of them
  Stream stream = nullptr;
};
std::int64_t scratch_numbers(const InverseLengths& launch);
void inverse_lengths(const InverseLengths& launch);

template <class T>
struct PerturbSegment {
  T* out = nullptr;
  const T* base = nullptr;  ///< may be `out`
  std::int64_t count = 0;
  std::uint64_t first = 0;
  const double* inverse_length = nullptr;  ///< null: 1
};

/// out = base + scale · inverse_length · z, with z generated in registers.
template <class T>
struct Perturb {
  DirectionKey key;
  Distribution distribution = Distribution::normal;
  double scale = 0;  ///< δ
  std::vector<PerturbSegment<T>> segments;
  Stream stream = nullptr;
};
template <class T>
void perturb(const Perturb<T>& launch);

template <class T>
struct DotSegment {
  const T* gradient = nullptr;
  std::int64_t count = 0;
  std::uint64_t first = 0;
  const double* inverse_length = nullptr;  ///< null: 1
};

/// out += Σ gradient · scale · inverse_length · z.
template <class T>
struct Dot {
  DirectionKey key;
  Distribution distribution = Distribution::normal;
  double scale = 1;
  std::vector<DotSegment<T>> segments;
  double* out = nullptr;
  double* scratch = nullptr;  ///< scratch_numbers(*this) of them
  Stream stream = nullptr;
};
template <class T>
std::int64_t scratch_numbers(const Dot<T>& launch);
template <class T>
void dot(const Dot<T>& launch);

template <class T>
struct AdamSegment {
  T* w = nullptr;
  T* m = nullptr;
  T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const AdamCoefficients* coefficients = nullptr;
};

/// The fused AdamW update, unless *skip is not 0.
template <class T>
struct AdamUpdate {
  std::vector<AdamSegment<T>> segments;
  const std::int64_t* skip = nullptr;  ///< null: never
  Stream stream = nullptr;
};
template <class T>
void adam_update(const AdamUpdate<T>& launch);

template <class T>
struct AdamProbeSegment {
  T* out = nullptr;
  const T* base = nullptr;
  const T* m = nullptr;
  const T* v = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const AdamCoefficients* coefficients = nullptr;  ///< decay is not used
};

/// out = base + Δ, the step Adam is about to take; slope += ⟨g, Δ⟩.
template <class T>
struct AdamProbe {
  std::vector<AdamProbeSegment<T>> segments;
  double* slope = nullptr;
  double* scratch = nullptr;  ///< scratch_numbers(*this) of them
  Stream stream = nullptr;
};
template <class T>
std::int64_t scratch_numbers(const AdamProbe<T>& launch);
template <class T>
void adam_probe(const AdamProbe<T>& launch);

struct GroupRule;

template <class T>
struct ProxSgdSegment {
  T* w = nullptr;
  T* buffer = nullptr;
  const T* gradient = nullptr;
  std::int64_t count = 0;
  const GroupRule* rule = nullptr;
};

/// As on the CPU, with lr, momentum and l1 of the segment's rule; unless *skip is not 0.
template <class T>
struct ProxSgdUpdate {
  std::vector<ProxSgdSegment<T>> segments;
  const std::int64_t* skip = nullptr;
  Stream stream = nullptr;
};
template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch);

/// *out += how many elements are NaN or infinite.
template <class T>
struct CountNonFinite {
  std::vector<ConstSegment<T>> segments;
  std::int64_t* out = nullptr;
  Stream stream = nullptr;
};
template <class T>
void count_non_finite(const CountNonFinite<T>& launch);

/// Copies many pieces, none of which overlaps another, if *only_if is not 0.
struct Copy {
  std::vector<CopySegment> segments;
  const std::int64_t* only_if = nullptr;  ///< null: always
  Stream stream = nullptr;
};
void copy(const Copy& launch);

/// *out = max|x|: NaN if an element is NaN.
template <class T>
struct AbsoluteMaximum {
  const T* data = nullptr;
  std::int64_t count = 0;
  T* out = nullptr;
  Stream stream = nullptr;
};
template <class T>
void absolute_maximum(const AbsoluteMaximum<T>& launch);

template <class T>
struct FakeQuantize {
  T* out = nullptr;
  const T* in = nullptr;  ///< may be `out`
  std::int64_t count = 0;
  const T* maximum = nullptr;
  QuantizationLevels levels;
  Stream stream = nullptr;
};
template <class T>
void fake_quantize(const FakeQuantize<T>& launch);

// ---- the numbers of a step --------------------------------------------------------------------------------

/// The options of a group. They lie in device memory, so that a new learning rate reaches a captured graph.
struct GroupRule {
  AdamRule adam;            ///< `adam.brake` is the last one applied
  double damping = 0;       ///< λ
  double given_brake = -1;  ///< a caller's own brake; negative: none, the brake follows from ρ
  double momentum = 0;      ///< ProxSGD's
  double l1 = 0;
  Brake brake = Brake::exponential;
};

/// rules[i] = values[i], as kernel arguments: the host's copy may change at once.
struct SetRules {
  GroupRule* rules = nullptr;
  std::vector<GroupRule> values;
  Stream stream = nullptr;
};
void set_rules(const SetRules& launch);

/// Counts over an optimizer's life, and what the current step has found so far. One, in device memory.
struct StepNumbers {
  std::int64_t steps = 0;    ///< updates applied: what directions are numbered by
  std::int64_t begun = 0;    ///< steps begun, skipped ones too: where the record of a step goes
  std::int64_t skipped = 0;  ///< steps skipped
  std::int64_t non_finite_probes = 0;

  std::int64_t non_finite_gradient = 0;  ///< of this step
  std::int64_t skip = 0;                 ///< this step changes nothing
};

/// What a parameter needs beside its arrays. In device memory, one for each.
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
  kRecordHead
};

/// Everything that the small kernels of a step work on.
struct StepState {
  StepNumbers* numbers = nullptr;
  GroupRule* rules = nullptr;
  double* last_lgi = nullptr;  ///< ρ of each group, kept between probes
  std::int64_t groups = 0;
  ParameterNumbers* parameters = nullptr;
  std::int64_t parameter_count = 0;
  double* loss = nullptr;     ///< f(w) of the training pass
  double* base = nullptr;     ///< f(w) as the probes see it; may be `loss`
  double* probed = nullptr;   ///< f at each probe
  double* slopes = nullptr;   ///< ⟨g, u_i⟩
  double* records = nullptr;  ///< the ring
  std::int64_t ring = 0;      ///< records in it
  std::int64_t probes = 0;    ///< of all rounds together: room for D and slopes in a record
  std::int64_t record_size() const { return kRecordHead + 2 * probes + 2 * groups; }
};

/// Before anything else in a step: clears what the last one found, and makes the coefficients without a
/// brake, which `Directions::step` looks along.
struct StartStep {
  StepState state;
  Stream stream = nullptr;
};
void start_step(const StartStep& launch);

/// After the base evaluation and the probes of groups [first_group, end_group): decides whether the step is
/// skipped (first round only), computes D, ρ and the brakes, writes the record, makes the coefficients of the
/// update and counts.
struct FinishProbes {
  StepState state;
  std::int64_t first_group = 0;
  std::int64_t end_group = 0;
  bool first_round = true;  ///< of the step
  bool last_round = true;
  std::int64_t probes = 0;       ///< evaluated in this round; 0: ρ stays the last one
  std::int64_t first_probe = 0;  ///< where this round's numbers begin in `probed` and `slopes`
  bool along_step = false;       ///< `Directions::step`
  bool has_loss = true;          ///< a step without a closure has none
  bool has_base = false;         ///< `base` is known before the first probe
  Statistic statistic = Statistic::variance;
  double distance = 1;  ///< δ
  double lgi_eps = 1e-6;
  double cap = 10;
  double rounding = 0;  ///< spacing of the loss's type near 1
  Stream stream = nullptr;
};
void finish_probes(const FinishProbes& launch);

}  // namespace sadam::kernels::cuda
