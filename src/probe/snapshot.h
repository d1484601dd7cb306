// w₀: the one copy of the parameters that S-Adam needs beyond AdamW.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "parameters.h"

namespace sadam::probe {

/// A copy of the parameters from which each probe is made and to which the weights return, bit for bit. Its
/// memory is kept from step to step.
class Snapshot {
 public:
  void take(const std::vector<Parameter>& parameters);

  /// Puts the weights back, without touching version counters: a graph that is still alive stays valid.
  void restore() const;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The copy of parameter i: laid out like it, or contiguous where it has gaps.
  const at::Tensor& copy(std::size_t i) const { return copies_[i]; }

 private:
  void transfer(bool to_weights) const;

  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> copies_;
};

}  // namespace sadam::probe
