// The options of the groups, from the host to the device.
#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {
namespace {

constexpr std::size_t kRulesAtOnce = 32;

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

void set_rules(const SetRules& launch) {
  for (std::size_t first = 0; first < launch.values.size(); first += kRulesAtOnce) {
    const std::size_t count = std::min(kRulesAtOnce, launch.values.size() - first);
    SetRulesArguments arguments;
    arguments.rules = launch.rules + first;
    arguments.count = static_cast<int>(count);
    std::copy_n(launch.values.data() + first, count, arguments.values);
    start("set_rules", set_rules_kernel, 1, arguments, launch.stream);
  }
}

}  // namespace sadam::kernels::cuda
