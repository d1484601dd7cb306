// A loss as a number, checked.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace sadam::probe {

using LossClosure = std::function<at::Tensor()>;

struct Loss {
  double value = 0;
  double rounding = 0;  ///< spacing of the loss's type near 1: 1.2e-7 for float32
};

/// Refuses, with a sentence that begins with `caller`, what is not one real number.
void check_loss(const at::Tensor& loss, const char* caller);

/// Spacing of a type near 1.
double rounding_of(at::ScalarType type);

/// Reads a checked loss.
Loss read_loss(const at::Tensor& loss);

}  // namespace sadam::probe
