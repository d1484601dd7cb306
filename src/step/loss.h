// A loss: what is asked for it, and what is refused.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace sadam::step {

using LossClosure = std::function<at::Tensor()>;

/// Refuses, with a sentence that begins with `caller`, what is not one real number.
void check_loss(const at::Tensor& loss, const std::string& caller);

/// The sum of losses, evaluated in their order, as one number of no dimension. Casts that torch has cached
/// are not used: they may be of other weights.
at::Tensor sum_of(const std::vector<LossClosure>& parts, const std::string& caller);

/// Spacing of a type near 1: 1.2e-7 for float32.
double rounding_of(at::ScalarType type);

}  // namespace sadam::step
