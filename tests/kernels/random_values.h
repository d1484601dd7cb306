// Numbers for kernels to work on, the same in every run.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace sadam::kernels {

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed, double low = -2, double high = 2) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (auto& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

}  // namespace sadam::kernels
