#include "kernels/cuda/kernels.h"

namespace sadam::kernels {
namespace {

template <class T>
constexpr KernelsOf<T> kernels_of() {
  return {cuda::perturb<T>,         cuda::dot<T>,
          cuda::dot_scratch<T>,     cuda::adam_update<T>,
          cuda::adam_probe<T>,      cuda::adam_probe_scratch<T>,
          cuda::ascent_length<T>,   cuda::ascent_scratch<T>,
          cuda::ascend<T>,          cuda::prox_sgd_update<T>,
          cuda::count_non_finite<T>};
}

}  // namespace

const Kernels& cuda_kernels() {
  static constexpr Kernels kTable = {kernels_of<float>(),   kernels_of<double>(), cuda::inverse_lengths,
                                     cuda::lengths_scratch, cuda::copy,           cuda::set_rules,
                                     cuda::start_step,      cuda::finish_step};
  return kTable;
}

}  // namespace sadam::kernels
