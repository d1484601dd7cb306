// The CUDA kernels by name: those of the table (kernels/kernels.h), and those that only the program's
// networks need.
//
// The segments of a launch are arrays of the user's own, wherever they lie: their addresses travel as kernel
// arguments, a few dozen to a launch, so that nothing is moved, no table is kept on the device, and a
// captured graph holds all it needs. Sums are made in double from partial sums that are cut by position
// alone.
//
// Pointers are to device memory, T is float or double. Free of libtorch and of CUDA's headers. A launch that
// the driver refuses throws `sadam::Error`.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sadam::kernels::cuda {

template <class T>
void perturb(const Perturb<T>& launch);
template <class T>
void dot(const Dot<T>& launch);
template <class T>
void adam_update(const AdamUpdate<T>& launch);
template <class T>
void adam_probe(const AdamProbe<T>& launch);
template <class T>
void prox_sgd_update(const ProxSgdUpdate<T>& launch);
template <class T>
void count_non_finite(const CountNonFinite<T>& launch);
void inverse_lengths(const InverseLengths& launch);
void copy(const Copy& launch);
void set_rules(const SetRules& launch);
void start_step(const StartStep& launch);
void finish_step(const FinishStep& launch);

template <class T>
std::int64_t dot_scratch(const Dot<T>& launch);
template <class T>
std::int64_t adam_probe_scratch(const AdamProbe<T>& launch);
std::int64_t lengths_scratch(const InverseLengths& launch);

/// *out = max|x|: NaN if an element is NaN.
template <class T>
struct AbsoluteMaximum {
  const T* data = nullptr;
  std::int64_t count = 0;
  T* out = nullptr;
  Stream stream = nullptr;
};
template <class T>
void absolute_maximum(const AbsoluteMaximum<T>& launch);

template <class T>
struct FakeQuantize {
  T* out = nullptr;
  const T* in = nullptr;  ///< may be `out`
  std::int64_t count = 0;
  const T* maximum = nullptr;
  QuantizationLevels levels;
  Stream stream = nullptr;
};
template <class T>
void fake_quantize(const FakeQuantize<T>& launch);

}  // namespace sadam::kernels::cuda
