#include "kernels/cuda/adam_on_both.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
AdamUpdate<T> update_of(const AdamArrays<T>& a) {
  AdamUpdate<T> launch;
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    launch.segments.push_back({a.on_gpu_w[i].data(), a.on_gpu_m[i].data(), a.on_gpu_v[i].data(),
                               a.on_gpu_g[i].data(), a.sizes[i], a.on_gpu_coefficients.data() + i});
  return launch;
}

template <class T>
void expect_the_cpus_update(const std::vector<std::int64_t>& sizes, std::size_t offset, double tolerance) {
  AdamArrays<T> a(sizes, offset);
  const auto w_before = a.w;
  cuda_kernels().of<T>().adam_update(update_of(a));
  AdamUpdate<T> twin;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    twin.segments.push_back(
        {a.w[i].data(), a.m[i].data(), a.v[i].data(), a.g[i].data(), sizes[i], &a.coefficients[i]});
  cpu_kernels().of<T>().adam_update(twin);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    expect_close(a.on_gpu_w[i].values(), a.w[i], magnitudes(a.w[i], w_before[i]), tolerance);
    expect_close(a.on_gpu_m[i].values(), a.m[i], magnitudes(a.m[i], a.g[i]), tolerance);
    expect_close(a.on_gpu_v[i].values(), a.v[i], magnitudes(a.v[i], std::vector<T>(a.v[i].size())),
                 tolerance);
    EXPECT_TRUE(same_bits(a.on_gpu_g[i].values(), a.g[i]));
  }
}

TEST(CudaAdamUpdate, IsTheCpusToRounding) {
  for (const std::size_t offset : {0u, 1u, 2u}) {
    for (const auto size : odd_sizes()) {
      expect_the_cpus_update<float>({size}, offset, 1e-6);
      expect_the_cpus_update<double>({size}, offset, 1e-14);
    }
    expect_the_cpus_update<float>(many_sizes(), offset, 1e-6);
    expect_the_cpus_update<double>(many_sizes(), offset, 1e-14);
  }
}

TEST(CudaAdamUpdate, LeavesEverythingWhereTheStepIsSkipped) {
  for (const std::int64_t skip : {0, 1}) {
    const AdamArrays<float> a({129, 5000}, 0);
    const DeviceArray<std::int64_t> on_gpu_skip({skip});
    auto launch = update_of(a);
    launch.skip = on_gpu_skip.data();
    cuda_kernels().of_float.adam_update(launch);
    for (std::size_t i = 0; i < a.sizes.size(); ++i) {
      EXPECT_EQ(same_bits(a.on_gpu_w[i].values(), a.w[i]), skip == 1);
      EXPECT_EQ(same_bits(a.on_gpu_m[i].values(), a.m[i]), skip == 1);
      EXPECT_EQ(same_bits(a.on_gpu_v[i].values(), a.v[i]), skip == 1);
    }
  }
}

// Alignment chooses another loop, not another result.
TEST(CudaAdamUpdate, HasTheSameBitsWhereverTheArraysLie) {
  const AdamArrays<float> aligned({4099}, 0), shifted({4099}, 1);
  cuda_kernels().of_float.adam_update(update_of(aligned));
  cuda_kernels().of_float.adam_update(update_of(shifted));
  EXPECT_TRUE(same_bits(aligned.on_gpu_w[0].values(), shifted.on_gpu_w[0].values()));
  EXPECT_TRUE(same_bits(aligned.on_gpu_v[0].values(), shifted.on_gpu_v[0].values()));
}

TEST(CudaAdamUpdate, EmptyTensorsLeaveTheOthersAlone) {
  expect_the_cpus_update<double>({0, 129, 0, 0, 5000, 0}, 0, 1e-14);
  AdamUpdate<double> launch;
  launch.segments.resize(100);
  cuda_kernels().of_double.adam_update(launch);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace sadam::kernels::cuda
