// A parameter's weights as one block of memory, which is what the update kernels take.
#pragma once

#include <ATen/core/Tensor.h>

#include "../probe/parameters.h"

namespace sadam::optim {

/// The weights themselves, or, for a tensor with gaps, a contiguous copy that `written()` carries back.
class Block {
 public:
  explicit Block(const at::Tensor& parameter) : parameter_(parameter.variable_data()), original_(parameter) {
    memory_ = probe::is_block(parameter) ? parameter_ : parameter_.contiguous();
  }

  template <class T>
  T* data() const {
    return memory_.data_ptr<T>();
  }

  /// To be called once the kernel has written: torch's version counter learns of the change, as of any
  /// in-place one.
  void written() {
    if (!memory_.is_same(parameter_)) parameter_.copy_(memory_);
    original_.unsafeGetTensorImpl()->bump_version();
  }

 private:
  at::Tensor parameter_;
  at::Tensor original_;
  at::Tensor memory_;
};

}  // namespace sadam::optim
