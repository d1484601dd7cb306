// What a forward pass reads and writes besides the weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace sadam::probe {

/// A copy of torch's default random generator and of the protected buffers, as they stood when it was made.
/// Putting it back before an evaluation makes that evaluation see the same function: the same dropout masks,
/// the same batch-norm statistics.
class ForwardState {
 public:
  explicit ForwardState(const std::vector<at::Tensor>& buffers);

  /// Bit for bit, and without touching version counters: a graph that saved a buffer stays valid.
  void restore() const;
  void restore_buffers() const;

 private:
  at::Tensor generator_;
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> copies_;
};

}  // namespace sadam::probe
