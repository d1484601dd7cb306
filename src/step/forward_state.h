// What a forward pass reads and writes besides the weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "step/backend.h"
#include "step/copies.h"
#include "step/generators.h"

namespace sadam::step {

/// The random generators and the protected buffers as they stood when it was made. Going back to it before an
/// evaluation makes that evaluation see the same function: the same dropout masks, the same batch-norm
/// statistics.
class ForwardState {
 public:
  ForwardState(const std::vector<at::Tensor>& buffers, const Backend& backend);

  Draws draws;

  const std::vector<at::Tensor>& buffers() const { return buffers_; }
  /// Their copies.
  const std::vector<at::Tensor>& copies() const { return copies_.tensors(); }

  /// Puts the buffers back, bit for bit and without touching version counters; with `only_if`, only where
  /// that is not 0 where the kernels run. Those that an evaluation replaced by tensors of another kind or
  /// shape are not among them.
  void restore_buffers(const Backend& backend, const std::int64_t* only_if = nullptr) const;
  /// Whether there are such, and puts them back.
  bool has_replaced_buffers() const;
  void restore_replaced_buffers() const;

 private:
  std::vector<at::Tensor> buffers_;
  Copies copies_;
};

}  // namespace sadam::step
