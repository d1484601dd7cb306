// The CUDA kernels by name, for the table in table.cpp; all others take them from there.
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

}  // namespace sadam::kernels::cuda
