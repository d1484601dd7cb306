// Directions by a scalar loop on the host that fuses as the GPU does.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cuda/device_array.h"
#include "kernels/direction_element.h"
#include "kernels/kernels.h"

namespace sadam::kernels::cuda {

/// ScalarMath whose fma is fused whatever the compiler's baseline.
template <class Type>
struct FusedMath : ScalarMath<Type> {
  using V = Type;
  using Narrow = FusedMath<float>;
  static V fma(V a, V b, V c) { return std::fma(a, b, c); }
};

template <class T>
T element_on_host(const DirectionKey& key, Distribution distribution, std::uint64_t e) {
  return distribution == Distribution::rademacher ? rademacher_element<T>(key, e)
                                                  : normal_element<T, FusedMath<T>>(key, e);
}

/// Where in a direction tests begin: at a tile, inside one, and where block numbers need more than 32 bits;
/// the last two cross a multiple of 2³² blocks, of the normal and of the Rademacher law.
inline const std::vector<std::uint64_t>& firsts() {
  static const std::vector<std::uint64_t> firsts = {0,
                                                    1,
                                                    77,
                                                    8191,
                                                    (std::uint64_t{5} << 34) + 12345,
                                                    (std::uint64_t{3} << 34) - 500,
                                                    (std::uint64_t{3} << 39) - 500};
  return firsts;
}

/// z of elements [first, first + count) as the GPU makes it: a perturbation of zeros by one.
template <class T>
std::vector<T> direction_on_gpu(const DirectionOfStep& direction, Distribution distribution,
                                std::uint64_t first, std::int64_t count) {
  const DeviceArray<T> zeros(std::vector<T>(static_cast<std::size_t>(count), T{0}));
  const DeviceArray<T> out(std::vector<T>(static_cast<std::size_t>(count), T{9}));
  Perturb<T> launch;
  launch.direction = direction;
  launch.distribution = distribution;
  launch.scale = 1;
  launch.segments = {{out.data(), zeros.data(), count, first, nullptr}};
  cuda_kernels().of<T>().perturb(launch);
  return out.values();
}

}  // namespace sadam::kernels::cuda
