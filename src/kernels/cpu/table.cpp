#include "kernels/cpu/kernels.h"

namespace sadam::kernels {
namespace {

/// Partial sums live on the heap for as long as a launch lasts.
template <class Launch>
std::int64_t no_scratch(const Launch&) {
  return 0;
}

template <class T>
constexpr KernelsOf<T> kernels_of() {
  return {perturb<T>,         dot<T>,
          no_scratch<Dot<T>>, adam_update<T>,
          adam_probe<T>,      no_scratch<AdamProbe<T>>,
          ascent_length<T>,   no_scratch<Ascent<T>>,
          ascend<T>,          prox_sgd_update<T>,
          count_non_finite<T>};
}

}  // namespace

const Kernels& cpu_kernels() {
  static constexpr Kernels kTable = {
      kernels_of<float>(), kernels_of<double>(), inverse_lengths, no_scratch<InverseLengths>, copy,
      set_rules,           start_step,           finish_step};
  return kTable;
}

}  // namespace sadam::kernels
