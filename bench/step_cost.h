// A model of what a step costs one rank.
#pragma once

#include <algorithm>

namespace sadam::bench {

/// Seconds.
struct StepCost {
  double step = 0;     ///< whatever the batch: the update
  double example = 0;  ///< forward and backward
  double move = 0;     ///< of a probe, whatever the batch: w + δu
  double forward = 0;  ///< of an example, in a probe
  double message = 0;  ///< until the smallest sum is there
  double byte = 0;     ///< of a gradient that is summed
};

/// What the rank does in a step.
struct StepLoad {
  double examples = 0;
  double probes = 0;    ///< that it evaluates
  double forwards = 0;  ///< examples that they pass through the network, all together
  double messages = 0;  ///< that wait for each other
  double bytes = 0;
  double hidden = 0;  ///< seconds of its sums that the backward pass hides
};

inline double seconds_of(const StepCost& cost, const StepLoad& load) {
  return cost.step + cost.example * load.examples + cost.move * load.probes + cost.forward * load.forwards +
         cost.message * load.messages + std::max(cost.byte * load.bytes - load.hidden, 0.0);
}

}  // namespace sadam::bench
