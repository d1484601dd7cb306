// Loops over the elements of a chunk are templates over their type. Highway dispatches to names.
//
// After the template `loop(const Launch<T>&, const Chunk&)`, in what is compiled for each instruction set,
// SADAM_NAME_LOOP(loop, Launch) gives it a name for each type. In what is compiled once,
// SADAM_EXPORT_LOOP(loop, Launch) then makes `best_loop(launch, chunk)`, which runs the best that this
// machine can.
#pragma once

#include <hwy/highway.h>

#include "kernels/cpu/parallel.h"

#define SADAM_NAME_LOOP(loop, Launch)                                                                       \
  inline auto loop##_float(const Launch<float>& launch, const Chunk& chunk) { return loop(launch, chunk); } \
  inline auto loop##_double(const Launch<double>& launch, const Chunk& chunk) { return loop(launch, chunk); }

#define SADAM_EXPORT_LOOP(loop, Launch)                                       \
  HWY_EXPORT(loop##_float);                                                   \
  HWY_EXPORT(loop##_double);                                                  \
  inline auto best_##loop(const Launch<float>& launch, const Chunk& chunk) {  \
    return HWY_DYNAMIC_DISPATCH(loop##_float)(launch, chunk);                 \
  }                                                                           \
  inline auto best_##loop(const Launch<double>& launch, const Chunk& chunk) { \
    return HWY_DYNAMIC_DISPATCH(loop##_double)(launch, chunk);                \
  }
