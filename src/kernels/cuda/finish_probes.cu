// From the losses of a round of probes to ρ, the brakes and the coefficients of the update: a few numbers, by
// one block, so that none of them has to visit the host.
#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {
namespace {

/// Differences and slopes up to so many are worked on in fast memory.
constexpr std::int64_t kStaged = 256;

struct FinishArguments {
  FinishProbes launch;
  std::int64_t record_size;
};

/// What the threads of the block tell each other.
struct Shared {
  double differences[kStaged];
  double slopes[kStaged];
  double lgi;
  int non_finite;
  int beyond_noise;  ///< a change larger than rounding was seen
  int skip;
  int probing;            ///< there are probes to judge
  std::int64_t recorded;  ///< probes of earlier rounds in the record
};

__device__ __forceinline__ bool finite(double x) { return all_finite(&x, 1); }

/// The record of a step that has found nothing yet: ρ as it was, no brake.
__device__ void clear_record(const StepState& state, double* record) {
  const double none = std::nan("");
  for (std::int64_t i = threadIdx.x; i < 2 * state.probes; i += kThreads) record[kRecordHead + i] = none;
  double* const lgi = record + kRecordHead + 2 * state.probes;
  for (std::int64_t g = threadIdx.x; g < state.groups; g += kThreads) {
    lgi[g] = state.last_lgi[g];
    lgi[state.groups + g] = 1;
  }
}

/// By one thread: writes the head of the record and decides whether the step is skipped.
__device__ void begin_step(const FinishProbes& launch, double* record) {
  const StepState& state = launch.state;
  StepNumbers& numbers = *state.numbers;
  double loss = launch.has_loss ? *state.loss : std::nan("");
  bool bad_loss = launch.has_loss && !finite(loss);
  // f(w) as the probes see it can overflow where the training pass, in another precision, did not.
  if (!bad_loss && numbers.non_finite_gradient == 0 && (launch.probes > 0 || launch.has_base) &&
      !finite(*state.base)) {
    loss = *state.base;
    bad_loss = true;
  }
  numbers.skip = bad_loss || numbers.non_finite_gradient > 0 ? 1 : 0;
  numbers.skipped += numbers.skip;
  record[kRecordStep] = static_cast<double>(numbers.steps);
  record[kRecordLoss] = loss;
  record[kRecordProbed] = 0;
  record[kRecordWithinNoise] = 0;
  record[kRecordSkipped] = static_cast<double>(numbers.skip);
  record[kRecordNonFiniteLoss] = bad_loss ? 1 : 0;
  record[kRecordNonFiniteGradient] = static_cast<double>(numbers.non_finite_gradient);
  record[kRecordNonFiniteProbes] = 0;
}

/// By one thread: what this round is about.
__device__ void begin_round(const FinishProbes& launch, double* record, Shared& shared) {
  if (launch.first_round) begin_step(launch, record);
  shared.skip = launch.state.numbers->skip != 0 ? 1 : 0;
  shared.recorded = static_cast<std::int64_t>(record[kRecordProbed]);
  shared.non_finite = 0;
  shared.beyond_noise = 0;
  shared.probing = launch.probes > 0 && shared.skip == 0 ? 1 : 0;
  if (shared.probing != 0 && !finite(*launch.state.base)) {
    // Earlier groups have been updated already: noted, and this round goes on with the ρ it had.
    record[kRecordLoss] = *launch.state.base;
    record[kRecordNonFiniteLoss] = 1;
    shared.probing = 0;
  }
}

/// D_i = (f(w + δu_i) − f(w))/δ, to the record and to `differences`; the slopes likewise, where wanted.
__device__ void find_differences(const FinishProbes& launch, bool wants_slopes, double* record,
                                 double* differences, double* slopes, Shared& shared) {
  const StepState& state = launch.state;
  const double base = *state.base;
  const double distance = launch.along_step ? 1 : launch.distance;
  double* const in_record = record + kRecordHead + shared.recorded;
  for (std::int64_t i = threadIdx.x; i < launch.probes; i += kThreads) {
    const double loss = state.probed[launch.first_probe + i];
    const double change = loss - base;
    differences[i] = change / distance;
    in_record[i] = differences[i];
    if (wants_slopes) {
      slopes[i] = state.slopes[launch.first_probe + i];
      in_record[state.probes + i] = slopes[i];
    }
    if (!finite(loss)) atomicAdd(&shared.non_finite, 1);
    // Both losses are rounded, each by half a spacing of the coarsest type on the way to it or more.
    const double spacing = launch.rounding * std::fmax(std::fabs(base), std::fabs(loss));
    if (!finite(change) || std::fabs(change) > 2 * spacing) atomicOr(&shared.beyond_noise, 1);
  }
}

/// By one thread: ρ, and what the record says of the probes.
__device__ void judge(const FinishProbes& launch, const ProbeNumbers& found, double* record, Shared& shared) {
  const double raw = launch.along_step ? step_lgi_of(found.differences[0], found.slopes[0])
                                       : lgi_of(launch.statistic, found, launch.lgi_eps);
  shared.lgi = launch.cap < raw ? launch.cap : raw;
  const bool noise_so_far = record[kRecordWithinNoise] != 0 || record[kRecordProbed] == 0;
  record[kRecordWithinNoise] = shared.beyond_noise == 0 && noise_so_far ? 1 : 0;
  record[kRecordProbed] += static_cast<double>(launch.probes);
  record[kRecordNonFiniteProbes] += shared.non_finite;
  launch.state.numbers->non_finite_probes += shared.non_finite;
}

__device__ void set_brakes(const FinishProbes& launch, double* record, const Shared& shared) {
  const StepState& state = launch.state;
  double* const lgi = record + kRecordHead + 2 * state.probes;
  for (std::int64_t g = launch.first_group + threadIdx.x; g < launch.end_group; g += kThreads) {
    GroupRule& rule = state.rules[g];
    const double rho = shared.probing != 0 ? shared.lgi : state.last_lgi[g];
    // A ρ that only says "not finite" is for this step alone, not for those until the next probe.
    if (shared.probing != 0 && shared.non_finite == 0) state.last_lgi[g] = rho;
    rule.adam.brake = rule.given_brake >= 0 ? rule.given_brake : brake_of(rule.brake, rule.damping, rho);
    lgi[g] = rho;
    lgi[state.groups + g] = rule.adam.brake;
  }
}

__device__ void make_coefficients(const FinishProbes& launch) {
  const StepState& state = launch.state;
  for (std::int64_t i = threadIdx.x; i < state.parameter_count; i += kThreads) {
    ParameterNumbers& parameter = state.parameters[i];
    if (parameter.trained == 0 || parameter.group < launch.first_group || parameter.group >= launch.end_group)
      continue;
    ++parameter.t;
    parameter.coefficients = coefficients_at(state.rules[parameter.group].adam, parameter.t);
  }
}

__global__ void __launch_bounds__(kThreads)
    finish_probes_kernel(const __grid_constant__ FinishArguments arguments) {
  const FinishProbes& launch = arguments.launch;
  const StepState& state = launch.state;
  __shared__ Shared shared;
  double* const record = state.records + state.numbers->begun % state.ring * arguments.record_size;
  if (launch.first_round) clear_record(state, record);
  if (threadIdx.x == 0) begin_round(launch, record, shared);
  __syncthreads();
  if (shared.probing != 0) {
    const bool staged = launch.probes <= kStaged;
    const bool wants_slopes = launch.along_step || launch.statistic == Statistic::residual;
    double* const in_record = record + kRecordHead + shared.recorded;
    double* const differences = staged ? shared.differences : in_record;
    double* const slopes = staged ? shared.slopes : in_record + state.probes;
    find_differences(launch, wants_slopes, record, differences, slopes, shared);
    __syncthreads();
    if (threadIdx.x == 0) judge(launch, {differences, slopes, launch.probes}, record, shared);
    __syncthreads();
  }
  if (shared.skip == 0) {
    set_brakes(launch, record, shared);
    __syncthreads();
    make_coefficients(launch);
  }
  if (launch.last_round && threadIdx.x == 0) {
    ++state.numbers->begun;
    state.numbers->steps += shared.skip == 0 ? 1 : 0;
  }
}

}  // namespace

void finish_probes(const FinishProbes& launch) {
  start("finish_probes", finish_probes_kernel, 1, {launch, launch.state.record_size()}, launch.stream);
}

}  // namespace sadam::kernels::cuda
