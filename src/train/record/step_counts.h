// What went wrong in the steps of a run or an epoch, counted, so that none of it is silent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/record/events.h"

namespace sadam::train {

struct StepCounts {
  std::int64_t steps = 0;
  std::int64_t skipped = 0;       ///< loss or gradient not finite: weights and state untouched
  std::int64_t probed = 0;        ///< probes were evaluated
  std::int64_t within_noise = 0;  ///< of those: the probes differed from the loss by no more than rounding
  std::int64_t non_finite_probes = 0;  ///< probes, not steps

  void add(const StepEvent& step);
  bool operator==(const StepCounts&) const = default;
};

/// A sentence for each kind of trouble that there was.
std::vector<std::string> sentences(const StepCounts& run);

/// That a run is of no use, and what to try, from its last epoch; "" if it is not so.
std::string divergence(const EpochEvent& last, const StepCounts& last_epoch);

}  // namespace sadam::train
