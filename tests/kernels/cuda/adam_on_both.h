// The arrays of an Adam update, on the host and on the GPU.
#pragma once

#include <cmath>

#include "kernels/cuda/device_array.h"
#include "kernels/kernels.h"

namespace sadam::kernels::cuda {

/// Those of tensor i; every tensor has its own.
inline AdamCoefficients coefficients_of(std::size_t tensor) {
  AdamCoefficients c;
  c.beta1 = 0.9;
  c.beta2 = 0.999;
  c.eps = 1e-8;
  c.root_scale = 1 / std::sqrt(1 - std::pow(c.beta2, 3));
  c.step_size = 0.01 * static_cast<double>(1 + tensor % 4);
  c.decay = 1 - 0.0005;
  if (tensor % 3 == 2) {  // AdaBound
    c.lower_bound = 0.05;
    c.upper_bound = 0.2;
  }
  return c;
}

inline std::vector<AdamCoefficients> coefficients_of_all(std::size_t tensors) {
  std::vector<AdamCoefficients> all;
  for (std::size_t i = 0; i < tensors; ++i) all.push_back(coefficients_of(i));
  return all;
}

/// w, m, v and the gradient of some tensors; their first elements lie `offset` elements off.
template <class T>
struct AdamArrays {
  std::vector<std::int64_t> sizes;
  std::vector<AdamCoefficients> coefficients;
  DeviceArray<AdamCoefficients> on_gpu_coefficients;
  std::vector<std::vector<T>> w, m, v, g;
  std::vector<DeviceArray<T>> on_gpu_w, on_gpu_m, on_gpu_v, on_gpu_g;

  AdamArrays(const std::vector<std::int64_t>& given, std::size_t offset)
      : sizes(given), coefficients(coefficients_of_all(given.size())), on_gpu_coefficients(coefficients) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto seed = static_cast<unsigned>(4 * i);
      w.push_back(random_values<T>(sizes[i], seed));
      m.push_back(random_values<T>(sizes[i], seed + 1, -0.1, 0.1));
      v.push_back(random_values<T>(sizes[i], seed + 2, 1e-6, 0.1));
      g.push_back(random_values<T>(sizes[i], seed + 3));
      on_gpu_w.emplace_back(w.back(), offset);
      on_gpu_m.emplace_back(m.back(), offset);
      on_gpu_v.emplace_back(v.back(), offset);
      on_gpu_g.emplace_back(g.back(), offset);
    }
  }
};

/// |a| + |b| of each element: what rounding is measured by where two terms may cancel.
template <class T>
std::vector<double> magnitudes(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<double> sum;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum.push_back(std::abs(static_cast<double>(a[i])) + std::abs(static_cast<double>(b[i])));
  return sum;
}

}  // namespace sadam::kernels::cuda
