#include "kernels/cuda/adam_on_both.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct AdamProbed {
  std::vector<std::vector<T>> out;
  double slope;
};

template <class T>
AdamProbed<T> probe_on_gpu(const AdamArrays<T>& a, double start) {
  std::vector<DeviceArray<T>> out;
  AdamProbe<T> launch;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    out.emplace_back(std::vector<T>(a.w[i].size(), T{9}), i % 2);
    launch.segments.push_back({out[i].data(), a.on_gpu_w[i].data(), a.on_gpu_m[i].data(),
                               a.on_gpu_v[i].data(), a.on_gpu_g[i].data(), a.sizes[i],
                               a.on_gpu_coefficients.data() + i});
  }
  const DeviceArray<double> slope({start});
  const DeviceArray<double> scratch(
      std::vector<double>(static_cast<std::size_t>(cuda_kernels().of<T>().adam_probe_scratch(launch))));
  launch.slope = slope.data();
  launch.scratch = scratch.data();
  cuda_kernels().of<T>().adam_probe(launch);
  static_cast<void>(scratch.values());  // checks its margins
  AdamProbed<T> probed = {{}, slope.value()};
  for (const auto& array : out) probed.out.push_back(array.values());
  return probed;
}

template <class T>
void expect_the_cpus_probe(const std::vector<std::int64_t>& sizes, double tolerance) {
  const AdamArrays<T> a(sizes, 0);
  std::vector<std::vector<T>> out;
  AdamProbe<T> twin;
  for (std::size_t i = 0; i < sizes.size(); ++i) out.emplace_back(a.w[i].size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    twin.segments.push_back({out[i].data(), a.w[i].data(), a.m[i].data(), a.v[i].data(), a.g[i].data(),
                             sizes[i], &a.coefficients[i]});
  double slope = 0;
  twin.slope = &slope;
  cpu_kernels().of<T>().adam_probe(twin);
  const auto got = probe_on_gpu(a, 3);
  double magnitude = 3;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    expect_close(got.out[i], out[i], magnitudes(a.w[i], out[i]), tolerance);
    for (std::size_t k = 0; k < out[i].size(); ++k)
      magnitude += std::abs(static_cast<double>(a.g[i][k]) * static_cast<double>(out[i][k] - a.w[i][k]));
    EXPECT_TRUE(same_bits(a.on_gpu_m[i].values(), a.m[i]));
    EXPECT_TRUE(same_bits(a.on_gpu_v[i].values(), a.v[i]));
  }
  EXPECT_NEAR(got.slope - 3, slope, tolerance * magnitude);
  EXPECT_EQ(probe_on_gpu(a, 3).slope, got.slope) << "another run, other bits";
}

TEST(CudaAdamProbe, MovesAndAddsAsTheCpuDoes) {
  for (const auto size : odd_sizes()) {
    expect_the_cpus_probe<float>({size}, 1e-6);
    expect_the_cpus_probe<double>({size}, 1e-13);
  }
  expect_the_cpus_probe<float>(many_sizes(), 1e-6);
  expect_the_cpus_probe<double>(many_sizes(), 1e-13);
}

}  // namespace
}  // namespace sadam::kernels::cuda
