// Stands in for the kernels where there is no CUDA.
#include "nn/cuda/fake_quantize.h"

namespace sadam::nn::cuda {

bool has_fake_quantize(const at::Tensor&) { return false; }

void fake_quantize(const at::Tensor&, const at::Tensor&, int) {}  // never called

}  // namespace sadam::nn::cuda
