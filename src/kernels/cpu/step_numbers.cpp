// What starts and ends a step, by one thread.
#include "kernels/step_numbers.h"

#include <algorithm>

#include "kernels/cpu/kernels.h"

namespace sadam::kernels {

void set_rules(const SetRules& launch) {
  std::copy(launch.values.begin(), launch.values.end(), launch.rules);
}

void start_step(const StartStep& launch) { begin_numbers(launch.state, Team()); }

void finish_step(const FinishStep& launch) { finish_round(launch.round, launch.state, Team()); }

}  // namespace sadam::kernels
