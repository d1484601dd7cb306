// What a forward pass reads and writes besides the weights.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace sadam::probe {

/// A copy of torch's default random generators (the CPU's, and that of `device` if it is another) and of the
/// protected buffers, as they stood when it was made. Putting it back before an evaluation makes that
/// evaluation see the same function: the same dropout masks, the same batch-norm statistics.
class ForwardState {
 public:
  explicit ForwardState(const std::vector<at::Tensor>& buffers, at::Device device = at::kCPU);

  /// Bit for bit, and without touching version counters: a graph that saved a buffer stays valid.
  void restore() const;
  void restore_generators() const;
  void restore_buffers() const;

  /// The memory of the buffers, and their copies: of those that are still of the same kind and shape.
  std::vector<std::pair<at::Tensor, at::Tensor>> alike() const;
  /// Whether there are others, and puts those back.
  bool has_unlike() const { return alike().size() != buffers_.size(); }
  void restore_unlike() const;

  const std::vector<at::Tensor>& buffers() const { return buffers_; }
  const std::vector<at::Tensor>& copies() const { return copies_; }

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  // each with its state
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> copies_;
};

}  // namespace sadam::probe
