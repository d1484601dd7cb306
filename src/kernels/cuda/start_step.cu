#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) start_step_kernel(const __grid_constant__ StepState state) {
  if (threadIdx.x == 0) {
    state.numbers->non_finite_gradient = 0;
    state.numbers->skip = 0;
  }
  // Slopes are added to, type by type.
  if (state.slopes != nullptr)
    for (std::int64_t i = threadIdx.x; i < state.probes; i += kThreads) state.slopes[i] = 0;
  for (std::int64_t i = threadIdx.x; i < state.parameter_count; i += kThreads) {
    ParameterNumbers& parameter = state.parameters[i];
    AdamRule rule = state.rules[parameter.group].adam;
    rule.brake = 1;
    parameter.coefficients = coefficients_at(rule, parameter.t + 1);
  }
}

}  // namespace

void start_step(const StartStep& launch) {
  start("start_step", start_step_kernel, 1, launch.state, launch.stream);
}

}  // namespace sadam::kernels::cuda
