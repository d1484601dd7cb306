#include "loss.h"

#include <ATen/core/grad_mode.h>
#include <sadam/error.h>

#include <limits>
#include <sstream>

namespace sadam::probe {

void check_loss(const at::Tensor& loss, const char* caller) {
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
    default:
      return 0x1p-7;  // bfloat16
  }
}

Loss read_loss(const at::Tensor& loss) { return {loss.item<double>(), rounding_of(loss.scalar_type())}; }

}  // namespace sadam::probe
