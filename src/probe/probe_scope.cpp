#include "probe_scope.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <exception>

namespace sadam::probe {

ProbeScope::ProbeScope(Snapshot& snapshot, const std::vector<Parameter>& parameters,
                       const ForwardState* replay, const std::vector<at::Tensor>& buffers)
    : snapshot_(snapshot), replay_(replay) {
  if (replay) after_.emplace(buffers);
  snapshot.take(parameters);
}

ProbeScope::~ProbeScope() {
  snapshot_.restore();
  at::autocast::clear_cache();
  try {
    if (after_) after_->restore();
  } catch (const std::exception& error) {
    // Only a buffer that the closure turned into another kind of tensor comes here; a destructor may not
    // throw.
    TORCH_WARN("sadam: a protected buffer could not be put back after probing: ", error.what());
  }
}

Loss ProbeScope::evaluate(const LossClosure& closure) const {
  if (replay_) replay_->restore();
  // A closure that autocasts by itself would otherwise be served the weights of another probe.
  at::autocast::clear_cache();
  const at::NoGradGuard no_grad;
  const auto loss = closure();
  check_loss(loss, "probe");
  return read_loss(loss);
}

}  // namespace sadam::probe
