#include "step/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <sadam/error.h>

#include <limits>
#include <sstream>

namespace sadam::step {

void check_loss(const at::Tensor& loss, const std::string& caller) {
  std::ostringstream sentence;
  if (!loss.defined()) {
    sentence << caller << ": the closure returned an undefined tensor: return the loss.";
  } else if (loss.numel() != 1) {
    sentence << caller << ": the closure must return a scalar loss, not a tensor of shape " << loss.sizes()
             << ": reduce it, for instance with .mean().";
  } else if (!loss.is_floating_point()) {
    sentence << caller << ": the closure must return a real loss, not one of type " << loss.scalar_type()
             << ": compute it in floating point.";
  } else {
    return;
  }
  throw Error(sentence.str());
}

double rounding_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kFloat:
      return std::numeric_limits<float>::epsilon();
    case at::kHalf:
      return 0x1p-10;
    case at::kBFloat16:
      return 0x1p-7;
    default:
      throw Error("the loss is of a type that is neither float64, float32, float16 nor bfloat16.");
  }
}

at::Tensor sum_of(const std::vector<LossClosure>& parts, const std::string& caller) {
  at::Tensor sum;
  for (const auto& part : parts) {
    at::autocast::clear_cache();
    const auto loss = part();
    check_loss(loss, caller);
    sum = sum.defined() ? sum + loss.reshape({}) : loss.reshape({});
  }
  at::autocast::clear_cache();
  return sum;
}

}  // namespace sadam::step
