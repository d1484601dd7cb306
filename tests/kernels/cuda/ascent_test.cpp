#include "kernels/cuda/adam_on_both.h"

namespace sadam::kernels::cuda {
namespace {

template <class T>
struct Ascended {
  double squared_length;
  std::vector<std::vector<T>> out;
};

template <class T>
Ascended<T> ascend_on_gpu(const AdamArrays<T>& a, bool adaptive) {
  std::vector<DeviceArray<T>> out;
  Ascent<T> launch;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    out.emplace_back(std::vector<T>(a.w[i].size(), T{9}), i % 2);
    launch.segments.push_back({out[i].data(), a.on_gpu_w[i].data(), a.on_gpu_g[i].data(), a.sizes[i]});
  }
  const auto& kernels = cuda_kernels().of<T>();
  const DeviceArray<double> squared_length({3.0});
  const DeviceArray<double> scratch(
      std::vector<double>(static_cast<std::size_t>(kernels.ascent_scratch(launch))));
  launch.adaptive = adaptive;
  launch.radius = 0.7;
  launch.squared_length = squared_length.data();
  launch.scratch = scratch.data();
  kernels.ascent_length(launch);
  kernels.ascend(launch);
  static_cast<void>(scratch.values());  // checks its margins
  Ascended<T> ascended = {squared_length.value(), {}};
  for (const auto& array : out) ascended.out.push_back(array.values());
  return ascended;
}

template <class T>
void expect_the_cpus_ascent(const std::vector<std::int64_t>& sizes, bool adaptive, double tolerance) {
  const AdamArrays<T> a(sizes, 0);
  std::vector<std::vector<T>> out;
  Ascent<T> twin;
  for (std::size_t i = 0; i < sizes.size(); ++i) out.emplace_back(a.w[i].size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    twin.segments.push_back({out[i].data(), a.w[i].data(), a.g[i].data(), sizes[i]});
  double squared_length = 3;
  twin.adaptive = adaptive;
  twin.radius = 0.7;
  twin.squared_length = &squared_length;
  cpu_kernels().of<T>().ascent_length(twin);
  cpu_kernels().of<T>().ascend(twin);
  const auto got = ascend_on_gpu(a, adaptive);
  EXPECT_NEAR(got.squared_length, squared_length, tolerance * squared_length);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    expect_close(got.out[i], out[i], magnitudes(a.w[i], out[i]), tolerance);
  EXPECT_EQ(ascend_on_gpu(a, adaptive).squared_length, got.squared_length) << "another run, other bits";
}

TEST(CudaAscent, MeasuresAndMovesAsTheCpuDoes) {
  for (const bool adaptive : {false, true}) {
    for (const auto size : odd_sizes()) {
      expect_the_cpus_ascent<float>({size}, adaptive, 1e-6);
      expect_the_cpus_ascent<double>({size}, adaptive, 1e-13);
    }
    expect_the_cpus_ascent<float>(many_sizes(), adaptive, 1e-6);
    expect_the_cpus_ascent<double>(many_sizes(), adaptive, 1e-13);
  }
}

TEST(CudaAscent, StaysWhereThereIsNoWayUphill) {
  const std::vector<float> weights = {1, -2, 3};
  const DeviceArray<float> w(weights);
  const DeviceArray<float> g({0, 0, 0});
  const DeviceArray<float> out({9, 9, 9});
  const DeviceArray<double> squared_length({0});
  Ascent<float> launch;
  launch.segments = {{out.data(), w.data(), g.data(), 3}};
  launch.radius = 1;
  launch.squared_length = squared_length.data();
  cuda_kernels().of_float.ascend(launch);
  EXPECT_TRUE(same_bits(out.values(), weights));
}

}  // namespace
}  // namespace sadam::kernels::cuda
