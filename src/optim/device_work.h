// The part of the optimizers that runs on a GPU, behind one interface: a build without CUDA has none.
#pragma once

#include <sadam/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "../probe/probe.h"
#include "state.h"

namespace sadam {

class SAdam;

namespace optim {

/// Steps whose numbers stay on the device: nothing here waits for it, except where it says so.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;

  /// A whole step: evaluation (if there is a closure), probes, update. Returns the loss. `brakes`, if not
  /// empty, one for each group, take the place of probes.
  virtual at::Tensor step(Optimizer& optimizer, const probe::LossClosure& closure, const char* caller,
                          const std::vector<double>& brakes = {}) = 0;

  /// The probes alone, judged on the host: waits. `base` is undefined if f(w) is to be evaluated.
  virtual probe::ProbeOutcome probe(SAdam& optimizer, const probe::LossClosure& closure,
                                    const at::Tensor& base, const probe::ForwardState& before) = 0;

  /// An update from the gradients as they are, with the caller's brakes. Waits, and completes the summary.
  virtual void step_with(SAdam& optimizer, const std::vector<double>& brakes) = 0;

  /// Waits, then brings summary and totals up to date with the last step.
  virtual void refresh(StepSummary& summary, Totals& totals) = 0;

  /// Waits, then brings the host's part of the parameters' states (their counts of updates) up to date, but
  /// for those that are not among the optimizer's any more.
  virtual void refresh_states(const StateMap& states) = 0;

  /// Waits. The summaries of the steps since the last call, oldest first; at most as many as the ring holds.
  virtual std::vector<StepSummary> take_summaries() = 0;

  /// ρ of each group, kept between probes. Waits.
  virtual std::vector<double> last_lgi() = 0;
};

/// Whether this build has kernels for GPUs.
bool built_with_cuda();

/// Throws `sadam::Error` in a build without CUDA.
std::unique_ptr<DeviceWork> make_device_work();

}  // namespace optim
}  // namespace sadam
