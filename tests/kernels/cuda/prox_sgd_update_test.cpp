#include "kernels/cuda/adam_on_both.h"

namespace sadam::kernels::cuda {
namespace {

GroupRule prox_rule(std::size_t tensor) {
  GroupRule rule;
  rule.lr = 0.1;
  rule.momentum = 0.9;
  rule.l1 = tensor % 2 == 0 ? 0.5 : 0;
  return rule;
}

// The buffer is what Adam would call m.
template <class T>
void expect_the_cpus_step(const std::vector<std::int64_t>& sizes, std::size_t offset, double tolerance,
                          std::int64_t skip) {
  AdamArrays<T> a(sizes, offset);
  const auto w_before = a.w;
  const DeviceArray<GroupRule> rules({prox_rule(0), prox_rule(1)});
  const DeviceArray<std::int64_t> on_gpu_skip({skip});
  ProxSgdUpdate<T> launch;
  launch.skip = on_gpu_skip.data();
  const std::vector<GroupRule> host_rules = {prox_rule(0), prox_rule(1)};
  ProxSgdUpdate<T> twin;
  twin.skip = &skip;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    launch.segments.push_back(
        {a.on_gpu_w[i].data(), a.on_gpu_m[i].data(), a.on_gpu_g[i].data(), sizes[i], rules.data() + i % 2});
    twin.segments.push_back({a.w[i].data(), a.m[i].data(), a.g[i].data(), sizes[i], &host_rules[i % 2]});
  }
  cuda_kernels().of<T>().prox_sgd_update(launch);
  cpu_kernels().of<T>().prox_sgd_update(twin);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    expect_close(a.on_gpu_w[i].values(), a.w[i], magnitudes(a.w[i], w_before[i]), tolerance);
    expect_close(a.on_gpu_m[i].values(), a.m[i], magnitudes(a.m[i], a.g[i]), tolerance);
    EXPECT_TRUE(skip == 0 || same_bits(a.on_gpu_w[i].values(), w_before[i]));
  }
}

TEST(CudaProxSgd, IsTheCpusToRounding) {
  for (const std::size_t offset : {0u, 1u}) {
    for (const auto size : odd_sizes()) {
      expect_the_cpus_step<float>({size}, offset, 1e-6, 0);
      expect_the_cpus_step<double>({size}, offset, 1e-14, 0);
    }
    expect_the_cpus_step<float>(many_sizes(), offset, 1e-6, 0);
    expect_the_cpus_step<double>(many_sizes(), offset, 1e-14, 0);
  }
}

TEST(CudaProxSgd, LeavesEverythingWhereTheStepIsSkipped) {
  expect_the_cpus_step<float>({5000, 129}, 0, 0, 1);
  expect_the_cpus_step<double>({5000, 129}, 0, 0, 1);
}

TEST(CudaProxSgd, KeepsANanAndMakesSmallWeightsZero) {
  const float nan = std::nanf("");
  const DeviceArray<GroupRule> rules({prox_rule(0)});
  const DeviceArray<float> w({nan, 0.04f, -0.04f, 1.0f}), buffer({0, 0, 0, 0}), g({0, 0, 0, 0});
  ProxSgdUpdate<float> launch;
  launch.segments = {{w.data(), buffer.data(), g.data(), 4, rules.data()}};
  cuda_kernels().of_float.prox_sgd_update(launch);
  const auto after = w.values();
  EXPECT_TRUE(std::isnan(after[0]));
  EXPECT_TRUE(same_bits<float>({after[1], after[2]}, {0.0f, 0.0f}));
  EXPECT_FLOAT_EQ(after[3], 0.95f);
}

}  // namespace
}  // namespace sadam::kernels::cuda
