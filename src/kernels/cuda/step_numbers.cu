// What starts and ends a step: a few numbers, by one block, so that none of them has to visit the host.
#include "kernels/step_numbers.h"

#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {
namespace {

__device__ __forceinline__ Team this_block() { return {static_cast<int>(threadIdx.x), kThreads}; }

__global__ void __launch_bounds__(kThreads) start_step_kernel(const __grid_constant__ StepState state) {
  begin_numbers(state, this_block());
}

struct FinishArguments {
  Round round;
  StepState state;
};

__global__ void __launch_bounds__(kThreads)
    finish_step_kernel(const __grid_constant__ FinishArguments arguments) {
  finish_round(arguments.round, arguments.state, this_block());
}

/// As many as fit beside each other among the arguments of a kernel.
constexpr std::size_t kRulesAtOnce = (4096 - 16) / sizeof(GroupRule);

struct SetRulesArguments {
  GroupRule* rules;
  int count;
  GroupRule values[kRulesAtOnce];
};

__global__ void __launch_bounds__(kThreads)
    set_rules_kernel(const __grid_constant__ SetRulesArguments arguments) {
  const auto i = static_cast<int>(threadIdx.x);
  if (i < arguments.count) arguments.rules[i] = arguments.values[i];
}

}  // namespace

void start_step(const StartStep& launch) {
  start("start_step", start_step_kernel, 1, launch.state, launch.place.stream);
}

void finish_step(const FinishStep& launch) {
  start("finish_step", finish_step_kernel, 1, {launch.round, launch.state}, launch.place.stream);
}

void set_rules(const SetRules& launch) {
  for (std::size_t first = 0; first < launch.values.size(); first += kRulesAtOnce) {
    const std::size_t count = std::min(kRulesAtOnce, launch.values.size() - first);
    SetRulesArguments arguments;
    arguments.rules = launch.rules + first;
    arguments.count = static_cast<int>(count);
    std::copy_n(launch.values.data() + first, count, arguments.values);
    start("set_rules", set_rules_kernel, 1, arguments, launch.place.stream);
  }
}

}  // namespace sadam::kernels::cuda
