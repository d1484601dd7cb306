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

SADAM_DECLARE_KERNELS

template <class T>
std::int64_t dot_scratch(const Dot<T>& launch);
template <class T>
std::int64_t adam_probe_scratch(const AdamProbe<T>& launch);
template <class T>
std::int64_t ascent_scratch(const Ascent<T>& launch);
std::int64_t lengths_scratch(const InverseLengths& launch);

}  // namespace sadam::kernels::cuda
