// The way back from a step that fails before it has updated anything.
#pragma once

#include <torch/optim/optimizer.h>

#include <utility>
#include <vector>

#include "../probe/forward_state.h"

namespace sadam::optim {

/// Gradients, buffers and random generator as a step found them: all that evaluating a closure may change.
class BeforeStep {
 public:
  BeforeStep(std::vector<torch::optim::OptimizerParamGroup>& groups, const std::vector<at::Tensor>& buffers,
             at::Device device = at::kCPU)
      : forward_(buffers, device) {
    for (auto& group : groups)
      for (auto& parameter : group.params()) gradients_.emplace_back(parameter, parameter.grad());
  }

  /// What each probe replays.
  const probe::ForwardState& forward() const { return forward_; }

  void clear_gradients() {
    for (auto& [parameter, gradient] : gradients_) parameter.mutable_grad().reset();
  }

  /// Lets go of the old gradients, so that they do not take memory beside the new ones: from now on `restore`
  /// leaves the gradients cleared.
  void forget_gradients() {
    for (auto& [parameter, gradient] : gradients_) gradient.reset();
  }

  void restore() {
    for (auto& [parameter, gradient] : gradients_) parameter.mutable_grad() = gradient;
    forward_.restore();
  }

 private:
  probe::ForwardState forward_;
  std::vector<std::pair<at::Tensor, at::Tensor>> gradients_;
};

}  // namespace sadam::optim
