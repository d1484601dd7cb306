#include <limits>

#include "kernels/cuda/device_array.h"
#include "kernels/kernels.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
void expect_all_counted() {
  const T bad[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                   -std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::signaling_NaN()};
  CountNonFinite<T> launch;
  std::vector<DeviceArray<T>> arrays;
  std::int64_t want = 5;
  auto sizes = many_sizes();
  sizes.insert(sizes.end(), odd_sizes().begin(), odd_sizes().end());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto values = random_values<T>(sizes[i], static_cast<unsigned>(i));
    if (sizes[i] > 0 && i % 5 == 0) values.back() = std::numeric_limits<T>::max();  // is finite
    for (std::size_t k = 0; k < values.size(); k += 1 + i % 7 * 50) {
      values[k] = bad[k % 4];
      ++want;
    }
    arrays.emplace_back(values, i % 3);
    launch.segments.push_back({arrays.back().data(), sizes[i]});
  }
  const DeviceArray<std::int64_t> out({5});
  launch.out = out.data();
  cuda_kernels().of<T>().count_non_finite(launch);
  EXPECT_EQ(out.value(), want);
}

TEST(CudaCountNonFinite, AddsEveryNanAndInfinityInFloat) { expect_all_counted<float>(); }
TEST(CudaCountNonFinite, AddsEveryNanAndInfinityInDouble) { expect_all_counted<double>(); }

TEST(CudaCountNonFinite, FindsNoneAmongFiniteNumbers) {
  const DeviceArray<float> values(random_values<float>(100003, 1));
  const DeviceArray<std::int64_t> out({0});
  CountNonFinite<float> launch;
  launch.segments = {{values.data(), 100003}};
  launch.out = out.data();
  cuda_kernels().of_float.count_non_finite(launch);
  EXPECT_EQ(out.value(), 0);
}

}  // namespace
}  // namespace sadam::kernels::cuda
