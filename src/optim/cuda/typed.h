// Tensors as kernels see them.
#pragma once

#include <ATen/core/Tensor.h>

#include "../../probe/parameters.h"

namespace sadam::optim::cuda {

/// Whether a kernel for T has something to do there.
template <class T>
bool is_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == c10::CppTypeToScalarType<T>::value && tensor.numel() > 0;
}

template <class T>
T* pointer(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

/// The gradient of a parameter with its elements in the order of the parameter's memory.
inline at::Tensor gradient_like(const at::Tensor& parameter) {
  return probe::laid_out_like(parameter.grad(), parameter);
}

}  // namespace sadam::optim::cuda
