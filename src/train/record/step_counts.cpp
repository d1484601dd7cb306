#include "train/record/step_counts.h"

#include <fmt/format.h>

#include <cmath>

namespace sadam::train {

void StepCounts::add(const StepEvent& step) {
  ++steps;
  if (step.skipped) ++skipped;
  if (step.probed) ++probed;
  if (step.within_noise) ++within_noise;
  non_finite_probes += step.non_finite_probes;
}

std::vector<std::string> sentences(const StepCounts& run) {
  std::vector<std::string> list;
  if (run.skipped > 0)
    list.push_back(
        fmt::format("{} of {} steps were skipped, because the loss or the gradient was not finite.",
                    run.skipped, run.steps));
  if (run.non_finite_probes > 0)
    list.push_back(
        fmt::format("{} probes had a loss that was not finite, and ρ was set to its largest value there.",
                    run.non_finite_probes));
  if (run.within_noise > 0)
    list.push_back(
        fmt::format("In {} of {} probed steps the probes differed from the loss by no more than rounding: ρ "
                    "is noise there.",
                    run.within_noise, run.probed));
  return list;
}

std::string divergence(const EpochEvent& last, const StepCounts& last_epoch) {
  const char* why = nullptr;
  if (last_epoch.steps > 0 && last_epoch.skipped == last_epoch.steps)
    why = "every step of the last epoch was skipped";
  else if (!std::isfinite(last.train_loss))
    why = "the training loss of the last epoch is not finite";
  else if (!std::isfinite(last.test_loss))
    why = "the test loss after the last epoch is not finite";
  return why == nullptr ? "" : fmt::format("Training diverged: {}; try a smaller optimizer.lr.", why);
}

}  // namespace sadam::train
