// How the C library treats memory that was freed.
#pragma once

#include <cstdlib>  // says whether this is glibc
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sadam::base {

/// Freed memory stays with the process, for all of its life: call this once, at the start of a program that
/// trains. Every step allocates the same tensors; by default those over a moving threshold go back to the
/// system when they are freed, and the next step pays a fault for each of their pages.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kNoTensorIsLarger = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kNoTensorIsLarger);
  mallopt(M_TRIM_THRESHOLD, kNoTensorIsLarger);
#endif
}

}  // namespace sadam::base
