// Loops over the elements of arrays: sixteen bytes an access where all arrays allow it, and several accesses
// on their way at once, which is what memory needs to be kept busy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/launch.cuh"

namespace sadam::kernels::cuda {

/// Elements of a chunk. A multiple of sixteen bytes, so that a chunk of an aligned array is aligned.
constexpr std::int64_t kElementChunk = 4096;

inline std::uint64_t element_chunks(std::int64_t count) {
  return count <= 0 ? 0 : static_cast<std::uint64_t>((count - 1) / kElementChunk + 1);
}

#ifdef __CUDACC__
/// n neighbouring elements, moved in one access.
template <class T, int n>
struct alignas(n * sizeof(T)) Pack {
  T x[n];
};

// Spelled out, because a plain assignment of a pack becomes one write for each element.
__device__ __forceinline__ void write(float* to, const Pack<float, 4>& pack) {
  __stwb(reinterpret_cast<float4*>(to), make_float4(pack.x[0], pack.x[1], pack.x[2], pack.x[3]));
}
__device__ __forceinline__ void write(double* to, const Pack<double, 2>& pack) {
  __stwb(reinterpret_cast<double2*>(to), make_double2(pack.x[0], pack.x[1]));
}
template <class T>
__device__ __forceinline__ void write(T* to, const Pack<T, 1>& pack) {
  *to = pack.x[0];
}

/// What a loop reads and what it writes. An element of `out` may be the same element of `in`.
template <class T, int ins, int outs>
struct Arrays {
  const T* in[ins];
  T* out[outs > 0 ? outs : 1];

  __device__ __forceinline__ Arrays from(std::int64_t begin) const {
    Arrays moved = *this;
#pragma unroll
    for (int k = 0; k < ins; ++k) moved.in[k] += begin;
#pragma unroll
    for (int k = 0; k < outs; ++k) moved.out[k] += begin;
    return moved;
  }
  __device__ __forceinline__ bool aligned() const {
    std::uintptr_t bits = 0;
#pragma unroll
    for (int k = 0; k < ins; ++k) bits |= reinterpret_cast<std::uintptr_t>(in[k]);
#pragma unroll
    for (int k = 0; k < outs; ++k) bits |= reinterpret_cast<std::uintptr_t>(out[k]);
    return bits % 16 == 0;
  }
};

/// Elements [begin, end), a whole number of packs. Everything is read before anything is written: arrays may
/// be the same, so the compiler could not bring later reads forward by itself.
template <int n, class T, int ins, int outs, class Step>
__device__ __forceinline__ void for_each_pack(const Arrays<T, ins, outs>& arrays, int begin, int end,
                                              Step& step) {
  constexpr int kAtOnce = 2;
  constexpr int kStride = kThreads * n;
#pragma unroll 1
  for (int i = begin + static_cast<int>(threadIdx.x) * n; i < end; i += kAtOnce * kStride) {
    Pack<T, n> read[kAtOnce][ins];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (i + u * kStride < end) {
#pragma unroll
        for (int k = 0; k < ins; ++k)
          read[u][k] = *reinterpret_cast<const Pack<T, n>*>(arrays.in[k] + i + u * kStride);
      }
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (i + u * kStride >= end) break;
      Pack<T, n> written[outs > 0 ? outs : 1];
#pragma unroll
      for (int x = 0; x < n; ++x) {
        T in[ins];
        T out[outs > 0 ? outs : 1];
#pragma unroll
        for (int k = 0; k < ins; ++k) in[k] = read[u][k].x[x];
        step(in, out);
#pragma unroll
        for (int k = 0; k < outs; ++k) written[k].x[x] = out[k];
      }
#pragma unroll
      for (int k = 0; k < outs; ++k) write(arrays.out[k] + i + u * kStride, written[k]);
    }
  }
}

/// Calls step(in, out) for each element of a chunk of arrays of `count` elements: `in` are its values, and
/// what step puts into `out` is written.
template <class T, int ins, int outs, class Step>
__device__ __forceinline__ void for_each_element(const Arrays<T, ins, outs>& arrays, std::int64_t count,
                                                 std::uint64_t chunk, Step&& step) {
  constexpr int n = 16 / sizeof(T);
  const std::int64_t begin = static_cast<std::int64_t>(chunk) * kElementChunk;
  const std::int64_t left = count - begin;
  const auto size = static_cast<int>(left < kElementChunk ? left : kElementChunk);
  const auto mine = arrays.from(begin);
  int done = 0;
  if (mine.aligned()) {
    done = size / n * n;
    for_each_pack<n>(mine, 0, done, step);
  }
  for_each_pack<1>(mine, done, size, step);
}
#endif

}  // namespace sadam::kernels::cuda
