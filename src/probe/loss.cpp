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

Loss read_loss(const at::Tensor& loss) {
  Loss read;
  read.value = loss.item<double>();
  switch (loss.scalar_type()) {
    case at::kDouble:
      read.rounding = std::numeric_limits<double>::epsilon();
      break;
    case at::kFloat:
      read.rounding = std::numeric_limits<float>::epsilon();
      break;
    case at::kHalf:
      read.rounding = 0x1p-10;
      break;
    default:
      read.rounding = 0x1p-7;  // bfloat16
  }
  return read;
}

}  // namespace sadam::probe
