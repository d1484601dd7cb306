// Other memory for the parameters and buffers of a module, and how the module is pointed there and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Optional.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "step/item.h"

namespace sadam::step {

/// Tensors like some others: the same types, shapes and strides, and, for those that share one block of
/// memory, the same places in it. (cuDNN's recurrent layers want their weights in one block.)
class Copies {
 public:
  /// Makes them like `tensors`. Cheap when they are already.
  void fit(const std::vector<at::Tensor>& tensors);
  const at::Tensor& operator[](std::size_t i) const { return copies_[i]; }
  const std::vector<at::Tensor>& tensors() const { return copies_; }
  void release() { copies_.clear(); }
  /// What `fit` would take.
  static std::int64_t bytes_for(const std::vector<at::Tensor>& tensors);

 private:
  std::vector<at::Tensor> copies_;
};

/// A place where probes are evaluated one after the other.
struct Lane {
  Copies weights;                     ///< of the items
  Copies buffers;                     ///< of the buffers
  c10::optional<c10::Stream> stream;  ///< none: the current one
};

struct Lanes {
  std::vector<Lane> lanes;
  bool in_place = false;  ///< weights are moved where they are; the copies keep what they were
  std::size_t next = 0;   ///< whose turn it is

  Lane& take() { return lanes[next++ % lanes.size()]; }
};

/// While it lives, tensors point to other memory. Their versions do not change: a graph that saved one of
/// them stays valid.
class Swap {
 public:
  Swap() = default;
  ~Swap();
  Swap(const Swap&) = delete;
  Swap& operator=(const Swap&) = delete;

  void point(const at::Tensor& tensor, const at::Tensor& to);

 private:
  struct Pointed {
    at::Tensor tensor;
    at::Tensor original;
    c10::VariableVersion version;
  };
  std::vector<Pointed> pointed_;
};

}  // namespace sadam::step
